import { type Limit, type LimitName, RateLimiter, RateLimitExceeded } from "@berth/domain/limits/RateLimiter"
import { DependencyUnavailable } from "@berth/domain/shared/DependencyUnavailable"
import { Data, Duration, Effect, Record } from "effect"
import { createHash } from "node:crypto"
import { RateLimiterRes, type RateLimiterStoreAbstract } from "rate-limiter-flexible"
import { makeStoreErrorLog } from "../queue/StoreErrorLog.ts"

export class RateLimitStoreUnavailable extends Data.TaggedError("RateLimitStoreUnavailable")<{
  readonly cause: unknown
}> {
  override get message() {
    return `The store of the rate limits does not answer: ${String(this.cause)}`
  }
}

/**
 * What becomes of a request that cannot be counted. Limits that stand between a stranger and a password, a mailbox or something
 * that costs us are kept by refusing; the gateway lets pass, since each of its calls is paid for.
 */
const outagePolicy: Record<LimitName, "refuse" | "let pass"> = {
  register: "refuse",
  "sign-in": "refuse",
  "sign-in-account": "refuse",
  "forgot-password": "refuse",
  "forgot-password-account": "refuse",
  "reset-password": "refuse",
  "email-verification": "refuse",
  provision: "refuse",
  "wallet-create": "refuse",
  gateway: "let pass"
}

const outageRetryAfter = Duration.seconds(5)
const storeTimeout = Duration.seconds(2)

/** What the library is told of a limit. Its windows are whole seconds. */
export const toLimiterWindow = (limit: Limit) => ({
  points: limit.count,
  duration: Math.max(1, Math.ceil(Duration.toSeconds(limit.window)))
})

/** Keys come from requests: hashed, they are short whatever was sent, and no address or e-mail lies in the store. */
const hashLimitKey = (key: string): string => createHash("sha256").update(key).digest("base64url")

/** The port over one of the library's limiters per limit. */
export const makeRateLimiter = (
  limiters: Record<LimitName, RateLimiterStoreAbstract>
): Effect.Effect<typeof RateLimiter.Service> =>
  Effect.gen(function* () {
    const troubles = yield* Effect.all(
      Record.map(outagePolicy, (consequence, limit) =>
        makeStoreErrorLog("A rate limit cannot count: its store does not answer", { limit, consequence })
      )
    )

    /** A full window is rejected with its state, anything else that is rejected is the store's failure. */
    const ask = <A>(question: () => Promise<A>) =>
      Effect.tryPromise({
        try: question,
        catch: (rejected) =>
          rejected instanceof RateLimiterRes ? rejected : new RateLimitStoreUnavailable({ cause: rejected })
      }).pipe(
        Effect.timeoutFail({
          duration: storeTimeout,
          onTimeout: () => new RateLimitStoreUnavailable({ cause: new Error("no answer in time") })
        })
      )

    const report = (limit: LimitName, { cause }: RateLimitStoreUnavailable) =>
      Effect.sync(() => troubles[limit](cause instanceof Error ? cause : new Error(String(cause))))

    const take = Effect.fn("RateLimiter.take")(function* (limit: LimitName, key: string) {
      yield* Effect.annotateCurrentSpan({ limit })
      yield* ask(() => limiters[limit].consume(hashLimitKey(key))).pipe(
        Effect.catchAll((rejected) => {
          if (rejected instanceof RateLimiterRes)
            return new RateLimitExceeded({ limit, retryAfter: Duration.millis(Math.max(1, rejected.msBeforeNext)) })
          // The client did nothing wrong, so it is not told that it did.
          const consequence =
            outagePolicy[limit] === "refuse"
              ? Effect.die(
                  new DependencyUnavailable({
                    dependency: "the store of the rate limits",
                    retryAfter: outageRetryAfter
                  })
                )
              : Effect.void
          return Effect.zipRight(report(limit, rejected), consequence)
        })
      )
    })

    const giveBack = Effect.fn("RateLimiter.refund")(function* (limit: LimitName, key: string) {
      yield* Effect.annotateCurrentSpan({ limit })
      const limiter = limiters[limit]
      const stored = hashLimitKey(key)
      yield* ask(async () => {
        // The window may have ended since the take: nothing is owed to the next one.
        const { consumedPoints } = await limiter.reward(stored)
        if (consumedPoints < 0) await limiter.penalty(stored, -consumedPoints)
      }).pipe(
        Effect.catchAll((rejected) => (rejected instanceof RateLimiterRes ? Effect.void : report(limit, rejected)))
      )
    })

    return RateLimiter.of({ take, refund: giveBack })
  })
