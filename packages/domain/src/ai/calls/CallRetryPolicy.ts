import { Duration, Option } from "effect"
import type { ProviderFailed } from "../models/ModelErrors.ts"

export interface CallRetryPolicy {
  /** Attempts after the first. */
  readonly retries: number
  /** Delay before the first retry; doubles with each retry. */
  readonly base: Duration.Duration
  /** Longest accepted `Retry-After`; after a longer one the next provider is called. */
  readonly maximumRetryAfter: Duration.Duration
}

/** A timeout is not retried, since it has used its time. */
const isTransient = (failure: ProviderFailed) =>
  failure.kind === "unreachable" || failure.kind === "overloaded" || failure.kind === "rate-limited"

/** Returns the delay before a retry; none for no retry. `jitter` is between 0 and 1. */
export const computeRetryDelay = (
  failure: ProviderFailed,
  triesSoFar: number,
  jitter: number,
  policy: CallRetryPolicy
): Option.Option<Duration.Duration> => {
  if (!isTransient(failure) || triesSoFar > policy.retries) return Option.none()
  const retryAfter = failure.retryAfter ?? Duration.zero
  if (Duration.greaterThan(retryAfter, policy.maximumRetryAfter)) return Option.none()
  const backoff = Duration.times(policy.base, 2 ** (triesSoFar - 1) * (0.5 + jitter))
  return Option.some(Duration.max(retryAfter, backoff))
}
