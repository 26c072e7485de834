import { Context, Data, DateTime, Duration, Effect, Either, Option, type Redacted } from "effect"
import { PasswordCredentials } from "../../accounts/password/PasswordCredentials.ts"
import { Outbox } from "../../jobs/Outbox.ts"
import { Transaction } from "../../persistence/Transaction.ts"
import type { SessionId } from "../../sessions/Session.ts"
import { AuthenticationRequired } from "../../sessions/SessionErrors.ts"
import { Sessions } from "../../sessions/Sessions.ts"
import type { User } from "../../shared/User.ts"
import { AccountRemoval } from "./AccountRemoval.ts"
import type { UserId } from "../../shared/UserId.ts"
import { RemoveAccountJob } from "./AccountDeletionJobs.ts"

/** The request needs the password, or a recent sign-in. */
export class ReauthenticationRequired extends Data.TaggedError("ReauthenticationRequired")<object> {}

/** Time after a sign-in in which it replaces the password. */
export const recentSignInWindow = Duration.minutes(10)

export const requireRecentSignIn = (
  signedInAt: DateTime.Utc,
  now: DateTime.Utc
): Either.Either<void, ReauthenticationRequired> =>
  Duration.lessThanOrEqualTo(DateTime.distanceDuration(signedInAt, now), recentSignInWindow)
    ? Either.void
    : Either.left(new ReauthenticationRequired())

/** Consequences of a deletion in higher contexts; each joins the deletion's transaction. The program composes the list. */
export class AccountDeletionHooks extends Context.Tag("@berth/AccountDeletionHooks")<
  AccountDeletionHooks,
  ReadonlyArray<(userId: UserId) => Effect.Effect<void>>
>() {}

/** Account deletion. One transaction ends all sessions and appends the job that removes the instance; rows are removed right after. */
export class AccountDeletion extends Effect.Service<AccountDeletion>()("@berth/AccountDeletion", {
  effect: Effect.gen(function* () {
    const credentials = yield* PasswordCredentials
    const sessions = yield* Sessions
    const removal = yield* AccountRemoval
    const transaction = yield* Transaction
    const outbox = yield* Outbox
    const hooks = yield* AccountDeletionHooks

    /** Requires the password when one is given, else a recent sign-in. Of concurrent calls one succeeds. */
    const remove = Effect.fn("AccountDeletion.delete")(
      function* (
        { sessionId, user }: { readonly user: User; readonly sessionId: SessionId },
        password: Option.Option<Redacted.Redacted>
      ) {
        const byPassword = Option.isSome(password)
          ? Option.some(yield* credentials.verifyCurrent(user.id, password.value))
          : Option.none()
        yield* transaction.run(
          Effect.gen(function* () {
            // In the transaction: a session or password that has just been revoked proves nothing.
            const { session } = yield* Effect.mapError(
              yield* sessions.find(sessionId),
              () => new AuthenticationRequired()
            )
            if (Option.isSome(byPassword)) yield* byPassword.value.hold
            else yield* requireRecentSignIn(session.createdAt, yield* DateTime.now)
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
      Effect.catchTag("CurrentPasswordIncorrect", () => new ReauthenticationRequired())
    )

    return { delete: remove }
  })
}) {}
