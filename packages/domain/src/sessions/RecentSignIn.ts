import { Data, DateTime, Duration, Either } from "effect"
import type { Session } from "./Session.ts"

/** The session's last sign-in or password check is too old for this action. */
export class RecentSignInRequired extends Data.TaggedError("RecentSignInRequired")<object> {}

/** Time after a sign-in or password check during which the session may change or remove access methods. */
const recentSignInWindow = Duration.minutes(10)

export const requireRecentSignIn = (
  { authenticatedAt }: Pick<Session, "authenticatedAt">,
  now: DateTime.Utc
): Either.Either<void, RecentSignInRequired> =>
  Duration.lessThanOrEqualTo(DateTime.distanceDuration(authenticatedAt, now), recentSignInWindow)
    ? Either.void
    : Either.left(new RecentSignInRequired())
