import { Data, DateTime, Duration, Either } from "effect"
import type { Session } from "./Session.ts"

/** The last sign-in or password check of the session is too long ago for this action. */
export class RecentSignInRequired extends Data.TaggedError("RecentSignInRequired")<object> {}

/** Time after a sign-in or password check in which the session may change or end the access to its account. */
export const recentSignInWindow = Duration.minutes(10)

export const requireRecentSignIn = (
  { authenticatedAt }: Pick<Session, "authenticatedAt">,
  now: DateTime.Utc
): Either.Either<void, RecentSignInRequired> =>
  Duration.lessThanOrEqualTo(DateTime.distanceDuration(authenticatedAt, now), recentSignInWindow)
    ? Either.void
    : Either.left(new RecentSignInRequired())
