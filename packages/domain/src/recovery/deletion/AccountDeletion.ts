import { Context, Data, Effect, Option, type Redacted } from "effect"
import { PasswordCredentials } from "../../accounts/password/PasswordCredentials.ts"
import { Outbox } from "../../jobs/Outbox.ts"
import { Transaction } from "../../persistence/Transaction.ts"
import type { CurrentUser } from "../../sessions/CurrentUser.ts"
import { AuthenticationRequired } from "../../sessions/SessionErrors.ts"
import { Sessions } from "../../sessions/Sessions.ts"
import { AccountRemoval } from "./AccountRemoval.ts"
import type { UserId } from "../../shared/UserId.ts"
import { RemoveAccountJob } from "./AccountDeletionJobs.ts"

/** The request contains neither a password nor a confirmation. */
export class AccountDeletionUnconfirmed extends Data.TaggedError("AccountDeletionUnconfirmed")<object> {}

export class DeletionPasswordIncorrect extends Data.TaggedError("DeletionPasswordIncorrect")<object> {}

/** A password takes precedence; without one, `isConfirmed` is valid within ten minutes after a sign-in. */
interface DeletionConfirmation {
  readonly password: Option.Option<Redacted.Redacted>
  readonly isConfirmed: boolean
}

/** Effects of a deletion in higher contexts; each joins the deletion's transaction. The program composes the list. */
export class AccountDeletionHooks extends Context.Tag("@berth/AccountDeletionHooks")<
  AccountDeletionHooks,
  ReadonlyArray<(userId: UserId) => Effect.Effect<void>>
>() {}

/**
 * Account deletion. One transaction revokes all sessions and appends the job that removes the rows; the rows are
 * removed right after.
 */
export class AccountDeletion extends Effect.Service<AccountDeletion>()("@berth/AccountDeletion", {
  effect: Effect.gen(function* () {
    const credentials = yield* PasswordCredentials
    const sessions = yield* Sessions
    const removal = yield* AccountRemoval
    const transaction = yield* Transaction
    const outbox = yield* Outbox
    const hooks = yield* AccountDeletionHooks

    /** Of concurrent calls exactly one succeeds. */
    const remove = Effect.fn("AccountDeletion.delete")(
      function* (current: CurrentUser["Type"], { isConfirmed, password }: DeletionConfirmation) {
        const { sessionId, user } = current
        if (Option.isNone(password) && !isConfirmed) return yield* new AccountDeletionUnconfirmed()
        const byPassword = yield* Effect.transposeMapOption(password, (secret) =>
          credentials.verifyCurrent(current, secret)
        )
        yield* transaction.run(
          Effect.gen(function* () {
            // In the transaction, since a concurrently revoked session or password proves nothing.
            if (Option.isSome(byPassword)) yield* byPassword.value.hold
            else yield* sessions.requireRecent(sessionId)
            if ((yield* sessions.revokeAll(user.id)) === 0) return yield* new AuthenticationRequired()
            yield* outbox.append(RemoveAccountJob, { userId: user.id })
            yield* Effect.forEach(hooks, (hook) => hook(user.id), { discard: true })
          })
        )
        yield* Effect.logInfo("Account deletion requested").pipe(Effect.annotateLogs("userId", user.id))
        yield* Effect.catchTag(removal.remove(user.id), "AccountInUse", () =>
          Effect.logWarning("Account rows are in use, the job removes them").pipe(
            Effect.annotateLogs("userId", user.id)
          )
        )
      },
      // A concurrent deletion revokes the session and removes the password.
      (deletion, { sessionId }) =>
        Effect.catchTag(deletion, "CurrentPasswordIncorrect", () =>
          Effect.zipRight(
            Effect.mapError(Effect.flatten(sessions.find(sessionId)), () => new AuthenticationRequired()),
            new DeletionPasswordIncorrect()
          )
        )
    )

    return { delete: remove }
  })
}) {}
