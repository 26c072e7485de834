import { Data, DateTime, Effect, Option } from "effect"
import { MailedTokens } from "../../accounts/mailed-tokens/MailedTokens.ts"
import { ExternalAccounts } from "../../accounts/registration/ExternalAccounts.ts"
import { AccessMethods } from "./AccessMethods.ts"
import { ClaimNoticeRepository } from "./ClaimNotices.ts"
import type { UserId } from "../../shared/UserId.ts"

/** The unverified address replaced a verified one within the last seven days. */
class EmailChangePending extends Data.TaggedError("EmailChangePending")<object> {}

/** Accounts with an unverified address, claimed by the address's owner (pre-hijack defense). */
export class AccountClaims extends Effect.Service<AccountClaims>()("@berth/AccountClaims", {
  effect: Effect.gen(function* () {
    const accounts = yield* ExternalAccounts
    const accessMethods = yield* AccessMethods
    const notices = yield* ClaimNoticeRepository
    const mailed = yield* MailedTokens

    /**
     * Revokes every access method and verifies the address; the caller has proved ownership of it. Joins the running
     * transaction, which holds the lock on the user.
     */
    const claim = Effect.fn("AccountClaims.claim")(function* (userId: UserId) {
      if (Option.isSome(yield* mailed.findByUser("email-change-undo", userId))) return yield* new EmailChangePending()
      yield* accessMethods.revokeAll(userId, DateTime.unsafeMake(0))
      yield* accounts.confirmEmail(userId)
      yield* notices.record(userId, yield* DateTime.now)
      yield* Effect.logWarning("Account claimed by its email owner").pipe(
        Effect.annotateLogs({ userId, revoked: accessMethods.names.join(", ") })
      )
    })

    return { claim }
  })
}) {}
