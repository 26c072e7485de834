import { type Limit, type LimitName, RateLimiter } from "@berth/domain/limits/RateLimiter"
import { Effect, Layer, Record, Redacted } from "effect"
import { Redis } from "ioredis"
import { RateLimiterRedis } from "rate-limiter-flexible"
import { makeStoreErrorLog } from "../queue/StoreErrorLog.ts"
import { RateLimitStoreUnavailable, makeRateLimiter, toLimiterWindow } from "./StoredRateLimiter.ts"

export interface RedisRateLimiterOptions {
  readonly url: Redacted.Redacted
  readonly limits: Record<LimitName, Limit>
  /** Before every key; `limits`. */
  readonly prefix?: string
}

/** Limits in Redis: one connection. A window is a key that expires by itself. */
export const layer = (options: RedisRateLimiterOptions): Layer.Layer<RateLimiter, RateLimitStoreUnavailable> =>
  Layer.scoped(
    RateLimiter,
    Effect.gen(function* () {
      const redis = yield* openRedis(options.url)
      return yield* makeRateLimiter(
        Record.map(
          options.limits,
          (limit, name) =>
            new RateLimiterRedis({
              ...toLimiterWindow(limit),
              storeClient: redis,
              keyPrefix: `${options.prefix ?? "limits"}:${name}`,
              rejectIfRedisNotReady: true
            })
        )
      )
    })
  )

const openRedis = (url: Redacted.Redacted) =>
  Effect.gen(function* () {
    const troubled = yield* makeStoreErrorLog("The limits have trouble with their store", {})
    const redis = yield* Effect.acquireRelease(
      Effect.sync(() =>
        new Redis(Redacted.value(url), {
          lazyConnect: true,
          connectTimeout: 5000,
          // A request does not wait for Redis to come back.
          commandTimeout: 2000,
          maxRetriesPerRequest: 1,
          retryStrategy: (times) => Math.min(times * 100, 2000)
        }).on("error", troubled)
      ),
      (redis) => Effect.sync(() => redis.disconnect())
    )
    yield* Effect.tryPromise({
      try: () => redis.connect(),
      catch: (cause) => new RateLimitStoreUnavailable({ cause })
    }).pipe(
      Effect.timeoutFail({
        duration: "10 seconds",
        onTimeout: () => new RateLimitStoreUnavailable({ cause: "no answer within 10 seconds" })
      })
    )
    return redis
  })
