import { Context, Data, type Duration, type Effect } from "effect"
import type { LimitName } from "./Limit.ts"

/** `retryAfter` is the time until the exhausted window ends. */
export class RateLimitExceeded extends Data.TaggedError("RateLimitExceeded")<{
  readonly limit: LimitName
  readonly retryAfter: Duration.Duration
}> {}

/**
 * Counts requests per limit and key, shared by all processes. `take` counts regardless of the request's outcome, except
 * for rejections of refunded limits; `refund` reverts one take.
 */
export class RateLimiter extends Context.Tag("@berth/RateLimiter")<
  RateLimiter,
  {
    readonly take: (limit: LimitName, key: string) => Effect.Effect<void, RateLimitExceeded>
    readonly refund: (limit: LimitName, key: string) => Effect.Effect<void>
  }
>() {}
