import { Effect } from "effect"
import { ExternalAccounts } from "../../accounts/registration/ExternalAccounts.ts"
import { AccessMethods } from "./AccessMethods.ts"
import type { UserId } from "../../shared/UserId.ts"

/** Accounts with an unverified address, claimed by the address's owner (pre-hijack defense). */
export class AccountClaims extends Effect.Service<AccountClaims>()("@berth/AccountClaims", {
  effect: Effect.gen(function* () {
    const accounts = yield* ExternalAccounts
    const accessMethods = yield* AccessMethods

    /** Revokes every access method and verifies the address, which the caller has proved. Joins the running transaction, which holds the user. */
    const claim = Effect.fn("AccountClaims.claim")(function* (userId: UserId) {
      yield* accessMethods.revokeAll(userId)
      yield* accounts.confirmEmail(userId)
      yield* Effect.logWarning("Account claimed by its email owner").pipe(
        Effect.annotateLogs({ userId, revoked: accessMethods.names.join(", ") })
      )
    })

    return { claim }
  })
}) {}
