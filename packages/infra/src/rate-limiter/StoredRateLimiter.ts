import { RateLimiter, RateLimitExceeded } from "@berth/domain/limits/RateLimiter"
import {
  isCountedLater,
  isCountedWithoutStore,
  isRefunded,
  type Limit,
  type LimitName
} from "@berth/domain/limits/Limit"
import { DependencyUnavailable } from "@berth/domain/shared/DependencyUnavailable"
import { Data, Duration, Effect, Record } from "effect"
import { hash } from "node:crypto"
import { RateLimiterRes, type RateLimiterStoreAbstract } from "rate-limiter-flexible"
import { DeferredCounts } from "./DeferredCounts.ts"
import { makeStoreErrorLog } from "../queue/StoreErrorLog.ts"

export class RateLimitStoreUnavailable extends Data.TaggedError("RateLimitStoreUnavailable")<{
  readonly cause: unknown
}> {
  override readonly message = `The rate limit store does not respond: ${String(this.cause)}`
}

const outageRetryAfter = Duration.seconds(5)
const storeTimeout = Duration.seconds(2)
const writeDelayMs = 50
/** Longer than a statement can be under way: a take returned after the end of its window would enlarge the next one. */
const returnMarginMs = 10_000

/**
 * Options of the library, whose windows are whole seconds. The prefix contains the window, so that a changed setting
 * applies at once. A key at twice its limit is rejected from memory, so that a flood does not load the store, except
 * where a refund, also by another process, can end the rejection.
 */
export const toLimiterOptions = (name: LimitName, limit: Limit) => {
  const duration = Math.max(1, Math.ceil(Duration.toSeconds(limit.window)))
  return {
    points: limit.count,
    duration,
    keyPrefix: `${name}/${duration}s`,
    inMemoryBlockOnConsumed: isRefunded(name) ? 0 : limit.count * 2
  }
}

/** Hashed, since keys are derived from requests: they have any length and contain addresses and emails. */
const hashLimitKey = (key: string): string => hash("sha256", key, "base64url")

const withinStoreTimeout = <A>(answer: Promise<A>): Promise<A> => {
  let timer: NodeJS.Timeout | undefined
  const expired = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error("timeout")), Duration.toMillis(storeTimeout))
  })
  return Promise.race([answer, expired]).finally(() => clearTimeout(timer))
}

/** The library rejects with the window's state if it is exhausted, and with another value if the store fails. */
const run = <A>(operation: () => Promise<A>) =>
  Effect.tryPromise({
    try: operation,
    catch: (rejected) =>
      rejected instanceof RateLimiterRes ? rejected : new RateLimitStoreUnavailable({ cause: rejected })
  })

/** Leaves rejected takes uncounted, since no success refunds them. A flood only reads from the store. */
const takeRefunded = Effect.fnUntraced(function* (limiter: RateLimiterStoreAbstract, stored: string) {
  const window = yield* run(() => withinStoreTimeout(limiter.get(stored)))
  if (window !== null && window.consumedPoints >= limiter.points) return yield* Effect.fail(window)
  yield* Effect.tapError(
    run(() => withinStoreTimeout(limiter.consume(stored))),
    (rejected) =>
      rejected instanceof RateLimiterRes && rejected.msBeforeNext > returnMarginMs
        ? run(() => withinStoreTimeout(limiter.reward(stored)))
        : Effect.void
  )
})

/** RateLimiter with one limiter of the library per limit. */
export const makeRateLimiter = Effect.fnUntraced(function* (
  limiters: Record<LimitName, RateLimiterStoreAbstract>
): Effect.fn.Return<typeof RateLimiter.Service> {
  const errorLogs = yield* Effect.all(
    Record.map(limiters, (_, limit) =>
      makeStoreErrorLog("Rate limit store unavailable", { limit, admitted: isCountedWithoutStore(limit) })
    )
  )

  const report = (limit: LimitName, { cause }: RateLimitStoreUnavailable) =>
    Effect.sync(() => errorLogs[limit](cause instanceof Error ? cause : new Error(String(cause))))

  const clock = yield* Effect.clock
  const deferredCounts = Record.map(limiters, (limiter, limit) =>
    isCountedLater(limit)
      ? new DeferredCounts({
          count: limiter.points,
          now: () => clock.unsafeCurrentTimeMillis(),
          defer: (write) => setTimeout(write, writeDelayMs).unref(),
          consume: (stored, takes) => withinStoreTimeout(limiter.consume(stored, takes)),
          windowAlone: isCountedWithoutStore(limit) ? Duration.seconds(limiter.duration) : undefined,
          onStoreFailure: (cause) => errorLogs[limit](cause instanceof Error ? cause : new Error(String(cause)))
        })
      : undefined
  )

  const takeAtStore = Effect.fn("RateLimiter.take")(function* (limit: LimitName, stored: string) {
    yield* Effect.annotateCurrentSpan({ limit })
    const deferred = deferredCounts[limit]
    const limiter = limiters[limit]
    const taken = isRefunded(limit)
      ? takeRefunded(limiter, stored)
      : run<unknown>(() => deferred?.take(stored) ?? withinStoreTimeout(limiter.consume(stored)))
    yield* taken.pipe(
      Effect.catchAll((rejected) => {
        if (rejected instanceof RateLimiterRes)
          return new RateLimitExceeded({ limit, retryAfter: Duration.millis(Math.max(1, rejected.msBeforeNext)) })
        // 503 instead of 429, since the client exceeded nothing.
        const outcome = isCountedWithoutStore(limit)
          ? Effect.void
          : Effect.die(new DependencyUnavailable({ dependency: "the rate limit store", retryAfter: outageRetryAfter }))
        return Effect.zipRight(report(limit, rejected), outcome)
      })
    )
  })

  const take = (limit: LimitName, key: string) =>
    Effect.suspend(() => {
      const stored = hashLimitKey(key)
      return deferredCounts[limit]?.admit(stored) === true ? Effect.void : takeAtStore(limit, stored)
    })

  const refund = Effect.fn("RateLimiter.refund")(function* (limit: LimitName, key: string) {
    yield* Effect.annotateCurrentSpan({ limit })
    const limiter = limiters[limit]
    const stored = hashLimitKey(key)
    deferredCounts[limit]?.forget(stored)
    yield* run(async () => {
      // The window may have ended since `take`; the next window starts at zero.
      const { consumedPoints } = await withinStoreTimeout(limiter.reward(stored))
      if (consumedPoints < 0) await withinStoreTimeout(limiter.penalty(stored, -consumedPoints))
    }).pipe(Effect.catchAll((rejected) => (rejected instanceof RateLimiterRes ? Effect.void : report(limit, rejected))))
  })

  return RateLimiter.of({ take, refund })
})
