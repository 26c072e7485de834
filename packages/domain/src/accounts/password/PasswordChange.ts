import { Effect, Either, type Redacted } from "effect"
import { Transaction } from "../../persistence/Transaction.ts"
import type { CurrentUser } from "../../sessions/CurrentUser.ts"
import { Sessions } from "../../sessions/Sessions.ts"
import { AccessNotices } from "../access-notices/AccessNotices.ts"
import { PasswordRejected } from "../AccountErrors.ts"
import { UserRepository } from "../UserRepository.ts"
import { CommonPasswords } from "./CommonPasswords.ts"
import { validatePassword } from "./Password.ts"
import { PasswordCredentials } from "./PasswordCredentials.ts"
import { PasswordHasher } from "./PasswordHasher.ts"

/** Replaces the password of a signed-in user, after a check of the present one. */
export class PasswordChange extends Effect.Service<PasswordChange>()("@berth/PasswordChange", {
  effect: Effect.gen(function* () {
    const users = yield* UserRepository
    const hasher = yield* PasswordHasher
    const common = yield* CommonPasswords
    const credentials = yield* PasswordCredentials
    const sessions = yield* Sessions
    const notices = yield* AccessNotices
    const transaction = yield* Transaction

    /** Revokes the user's other sessions and mailed reset links. */
    const change = Effect.fn("PasswordChange.change")(function* (
      current: CurrentUser["Type"],
      passwords: { readonly current: Redacted.Redacted; readonly next: Redacted.Redacted }
    ) {
      const next = yield* Either.mapLeft(
        validatePassword(common, passwords.next),
        ({ reason }) => new PasswordRejected({ reason, field: "newPassword" })
      )
      const { hold } = yield* credentials.verifyCurrent(current, passwords.current)
      const nextHash = yield* hasher.hash(next)
      yield* transaction.run(
        Effect.gen(function* () {
          // Precedes `hold`, since concurrent changes with its shared lock would deadlock.
          yield* users.findForUpdate(current.user.id)
          yield* sessions.lock(current.sessionId)
          yield* hold
          yield* users.setPasswordHash(current.user.id, nextHash)
          yield* credentials.revokeResetLinks(current.user.id)
          yield* notices.announce(current.user.id, "The password was changed.")
          yield* sessions.revokeOthers(current.user.id, current.sessionId)
        })
      )
      yield* Effect.logInfo("Password changed").pipe(Effect.annotateLogs("userId", current.user.id))
    })

    return { change }
  })
}) {}
