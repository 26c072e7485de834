import { DateTime, Duration, Effect, Either, Option, type Redacted } from "effect"
import { CardCustomers } from "../../billing/checkout/CardCustomers.ts"
import { RemoveCardCustomersJob, RemoveAccountJob } from "../../jobs/JobKind.ts"
import { Outbox } from "../../jobs/Outbox.ts"
import { Transaction } from "../../persistence/Transaction.ts"
import type { SessionId } from "../../sessions/Session.ts"
import { AuthenticationRequired } from "../../sessions/SessionErrors.ts"
import { Sessions } from "../../sessions/Sessions.ts"
import { ReauthenticationRequired } from "../../accounts/AccountDeletionErrors.ts"
import { AccountRemoval } from "./AccountRemoval.ts"
import { PasswordCredentials } from "../../accounts/password/PasswordCredentials.ts"
import type { User } from "../../shared/User.ts"

/** A sign-in is as good as the password for so long. */
export const recentSignInWindow = Duration.minutes(10)

/** Whether a sign-in was just now, by itself proof enough of who asks. */
export const requireRecentSignIn = (
  signedInAt: DateTime.Utc,
  now: DateTime.Utc
): Either.Either<void, ReauthenticationRequired> =>
  Duration.lessThanOrEqualTo(DateTime.distanceDuration(signedInAt, now), recentSignInWindow)
    ? Either.void
    : Either.left(new ReauthenticationRequired())

/**
 * Asking for the end of an account. It is settled in one transaction, which ends all sessions and leaves a job: from then on
 * nothing calls it back, whichever process dies. The rows go right behind it, the cell and its files with the job; what is paid
 * by card ends with a job of its own, which an unreachable card processor only delays.
 */
export class AccountDeletion extends Effect.Service<AccountDeletion>()("@berth/AccountDeletion", {
  effect: Effect.gen(function* () {
    const credentials = yield* PasswordCredentials
    const sessions = yield* Sessions
    const removal = yield* AccountRemoval
    const transaction = yield* Transaction
    const outbox = yield* Outbox
    const customers = yield* CardCustomers

    /**
     * Who asks proves himself by his password when he gives it, else by how fresh his sign-in is; a wrong password is refused
     * however fresh that is. Of several at once one succeeds, and the others are signed out.
     */
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
            // In the transaction: a session that was ended, or a password that was changed, proves nothing any more.
            const { session } = yield* Effect.mapError(
              yield* sessions.find(sessionId),
              () => new AuthenticationRequired()
            )
            if (Option.isSome(byPassword)) yield* byPassword.value.hold
            else yield* requireRecentSignIn(session.createdAt, yield* DateTime.now)
            // Nobody goes on writing to an account that nobody is signed in to.
            if ((yield* sessions.revokeAll(user.id)) === 0) return yield* new AuthenticationRequired()
            yield* outbox.append(RemoveAccountJob, { userId: user.id })
            // Nobody pays for an account that he has given up.
            const customerIds = yield* customers.listPayingFor(user.id)
            if (customerIds.length > 0) yield* outbox.append(RemoveCardCustomersJob, { customerIds })
          })
        )
        yield* Effect.logInfo("An account is to be deleted").pipe(Effect.annotateLogs("userId", user.id))
        yield* Effect.catchTag(removal.remove(user.id), "AccountInUse", () =>
          Effect.logWarning("An account is still written to, and goes with its job").pipe(
            Effect.annotateLogs("userId", user.id)
          )
        )
      },
      Effect.catchTag("CurrentPasswordIncorrect", () => new ReauthenticationRequired())
    )

    return { delete: remove }
  })
}) {}
