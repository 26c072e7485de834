import { Duration, Option } from "effect"
import type { ProviderFailed } from "../models/ModelErrors.ts"

export interface RetryPolicy {
  /** Further tries of one call after the first. */
  readonly retries: number
  /** Wait before the first further try; doubles with each. */
  readonly base: Duration.Duration
  /** The longest wait a provider may ask for; past it the next provider is quicker. */
  readonly maximumRetryAfter: Duration.Duration
}

/** Transient failures. Timeouts are excluded: their time is already spent. */
const isTransient = (failure: ProviderFailed) =>
  failure.kind === "unreachable" || failure.kind === "overloaded" || failure.kind === "rate-limited"

/** How long to wait before trying again, if at all. `jitter` lies between 0 and 1. */
export const computeRetryDelay = (
  failure: ProviderFailed,
  triesSoFar: number,
  jitter: number,
  policy: RetryPolicy
): Option.Option<Duration.Duration> => {
  if (!isTransient(failure) || triesSoFar > policy.retries) return Option.none()
  const asked = failure.retryAfter ?? Duration.zero
  if (Duration.greaterThan(asked, policy.maximumRetryAfter)) return Option.none()
  const backoff = Duration.times(policy.base, 2 ** (triesSoFar - 1) * (0.5 + jitter))
  return Option.some(Duration.max(asked, backoff))
}
