import { RateLimiter } from "@berth/domain/limits/RateLimiter"
import type { Limit, LimitName } from "@berth/domain/limits/Limit"
import { Effect, Layer, Record, Redacted } from "effect"
import { Redis } from "ioredis"
import { RateLimiterRedis } from "rate-limiter-flexible"
import { makeStoreErrorLog } from "../queue/StoreErrorLog.ts"
import { RateLimitStoreUnavailable, makeRateLimiter, toLimiterOptions } from "./StoredRateLimiter.ts"

interface RedisRateLimiterOptions {
  readonly url: Redacted.Redacted
  readonly limits: Record<LimitName, Limit>
  /** Prefix of every key; default: `limits`. */
  readonly prefix?: string
}

/** One connection; a window is a key with an expiry. */
export const layer = (options: RedisRateLimiterOptions): Layer.Layer<RateLimiter, RateLimitStoreUnavailable> =>
  Layer.scoped(
    RateLimiter,
    Effect.gen(function* () {
      const redis = yield* openRedis(options.url)
      return yield* makeRateLimiter(
        Record.map(options.limits, (limit, name) => {
          const limiter = toLimiterOptions(name, limit)
          return new RateLimiterRedis({
            ...limiter,
            storeClient: redis,
            keyPrefix: `${options.prefix ?? "limits"}:${limiter.keyPrefix}`,
            rejectIfRedisNotReady: true
          })
        })
      )
    })
  )

const openRedis = Effect.fnUntraced(function* (url: Redacted.Redacted) {
  const logError = yield* makeStoreErrorLog("Rate limit store error", {})
  const redis = yield* Effect.acquireRelease(
    Effect.sync(() =>
      new Redis(Redacted.value(url), {
        lazyConnect: true,
        connectTimeout: 5000,
        // Requests fail fast while Redis is down.
        commandTimeout: 2000,
        maxRetriesPerRequest: 1,
        retryStrategy: (times) => Math.min(times * 100, 2000)
      }).on("error", logError)
    ),
    (redis) => Effect.sync(() => redis.disconnect())
  )
  yield* Effect.tryPromise({
    try: () => redis.connect(),
    catch: (cause) => new RateLimitStoreUnavailable({ cause })
  }).pipe(
    Effect.timeoutFail({
      duration: "10 seconds",
      onTimeout: () => new RateLimitStoreUnavailable({ cause: "no connection within 10 seconds" })
    })
  )
  return redis
})
