import { Effect } from "effect"
import { ExternalAccounts } from "../../accounts/registration/ExternalAccounts.ts"
import type { UserId } from "../../shared/User.ts"
import { AccessMethods } from "./AccessMethods.ts"

/**
 * Accounts whose e-mail nobody had proved, when its owner comes. Whoever made such an account may have been waiting for him:
 * everything by which he could get in goes.
 */
export class AccountClaims extends Effect.Service<AccountClaims>()("@berth/AccountClaims", {
  effect: Effect.gen(function* () {
    const accounts = yield* ExternalAccounts
    const waysIn = yield* AccessMethods

    /** For who has just proved the account's present address. Joins the running transaction, which holds the user. */
    const claim = Effect.fn("AccountClaims.claim")(function* (userId: UserId) {
      yield* Effect.forEach(waysIn, ({ revoke }) => revoke(userId), { discard: true })
      yield* accounts.confirmEmail(userId)
      yield* Effect.logWarning("An account whose e-mail nobody had proved went to its owner").pipe(
        Effect.annotateLogs({ userId, shut: waysIn.map(({ name }) => name).join(", ") })
      )
    })

    return { claim }
  })
}) {}
