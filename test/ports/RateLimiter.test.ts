import { defaultLimits } from "@berth/domain/limits/Limit"
import { RateLimiter } from "@berth/domain/limits/RateLimiter"
import type { Limit, LimitName } from "@berth/domain/limits/Limit"
import { DependencyUnavailable } from "@berth/domain/shared/DependencyUnavailable"
import * as PostgresRateLimiter from "@berth/infra/rate-limiter/PostgresRateLimiter"
import * as RedisRateLimiter from "@berth/infra/rate-limiter/RedisRateLimiter"
import type { RateLimitStoreUnavailable } from "@berth/infra/rate-limiter/StoredRateLimiter"
import { assert, describe, it } from "@effect/vitest"
import { Context, Duration, Effect, Exit, Layer, Redacted, type Scope } from "effect"
import { randomBytes } from "node:crypto"
import { inject } from "vitest"
import { freshDatabase } from "../support/Databases.ts"
import { describeWithTool, redisServer } from "../support/RequiredTools.ts"
import { makeTcpProxy } from "../support/TcpProxy.ts"
import { eventually } from "../support/Eventually.ts"

type Limits = Record<LimitName, Limit>

interface RateLimiterStore {
  readonly url: Redacted.Redacted
  readonly layer: (url: Redacted.Redacted, limits: Limits) => Layer.Layer<RateLimiter, RateLimitStoreUnavailable>
}

const postgres = Effect.map(freshDatabase, (url): RateLimiterStore => ({
  url,
  layer: (url, limits) => PostgresRateLimiter.layer({ url, limits })
}))
const redis = Effect.sync((): RateLimiterStore => {
  const prefix = `test-${randomBytes(6).toString("hex")}`
  return {
    url: Redacted.make(inject("redisUrl")),
    layer: (url, limits) => RedisRateLimiter.layer({ url, limits, prefix })
  }
})

const limits: Limits = {
  ...defaultLimits,
  "sign-in": { count: 10, window: Duration.minutes(15) },
  register: { count: 2, window: Duration.hours(1) },
  provision: { count: 2, window: Duration.hours(1) },
  gateway: { count: 1, window: Duration.seconds(5) }
}

const passes = (limiter: typeof RateLimiter.Service, limit: LimitName, key: string) =>
  Effect.map(Effect.exit(limiter.take(limit, key)), Exit.isSuccess)

const start = ({ layer, url }: RateLimiterStore, changed: Partial<Limits> = {}) =>
  Effect.map(Layer.build(Layer.fresh(layer(url, { ...limits, ...changed }))), (context) =>
    Context.get(context, RateLimiter)
  )

const portSpec = (place: Effect.Effect<RateLimiterStore, never, Scope.Scope>) => () => {
  const opened = Effect.flatMap(place, start)
  const openedTwice = Effect.flatMap(place, (here) =>
    Effect.all([start(here), start(here)], { concurrency: "unbounded" })
  )

  it.scopedLive("RateLimiter admits exactly the limit across concurrent calls of two processes", () =>
    Effect.gen(function* () {
      const processes = yield* openedTwice
      const taken = yield* Effect.forEach(
        Array.from({ length: 25 }, () => processes).flat(),
        (limiter) => passes(limiter, "sign-in", "1.2.3.4"),
        { concurrency: "unbounded" }
      )
      assert.strictEqual(taken.length, 50)
      assert.strictEqual(taken.filter(Boolean).length, 10)
    })
  )

  it.scopedLive("RateLimiter fails with its name and the remaining time of the window", () =>
    Effect.gen(function* () {
      const limiter = yield* opened
      yield* limiter.take("register", "a")
      yield* limiter.take("register", "a")
      const refused = yield* Effect.flip(limiter.take("register", "a"))
      assert.strictEqual(refused.limit, "register")
      assert.isAtMost(Duration.toSeconds(refused.retryAfter), 3600)
      assert.isAtLeast(Duration.toSeconds(refused.retryAfter), 3500)
    })
  )

  it.scopedLive("RateLimiter counts each limit and key separately, whatever the key", () =>
    Effect.gen(function* () {
      const limiter = yield* opened
      const long = "x".repeat(10_000)
      for (const key of ["a", "b", "", "evil\u0000\ud800 key", `${long}1`, `${long}2`]) {
        assert.deepStrictEqual(
          yield* Effect.replicateEffect(passes(limiter, "register", key), 3),
          [true, true, false],
          key.slice(0, 20)
        )
      }
      assert.isTrue(yield* passes(limiter, "provision", "a"))
    })
  )

  it.scopedLive("RateLimiter refunds one take, and never more than were taken", () =>
    Effect.gen(function* () {
      const limiter = yield* opened
      yield* limiter.take("register", "a")
      yield* limiter.take("register", "a")
      yield* limiter.refund("register", "a")
      assert.isTrue(yield* passes(limiter, "register", "a"))
      assert.isFalse(yield* passes(limiter, "register", "a"))

      yield* limiter.refund("register", "never taken")
      yield* limiter.take("register", "b")
      yield* Effect.replicateEffect(limiter.refund("register", "b"), 3)
      for (const key of ["never taken", "b"])
        assert.deepStrictEqual(yield* Effect.replicateEffect(passes(limiter, "register", key), 3), [true, true, false])
    })
  )

  it.scopedLive(
    "RateLimiter counts no rejected takes of refunded limits, across concurrent calls of two processes",
    () =>
      Effect.gen(function* () {
        const processes = yield* openedTwice
        const [one] = processes
        const burst = Effect.map(
          Effect.forEach(
            Array.from({ length: 25 }, () => processes).flat(),
            (limiter) => passes(limiter, "sign-in", "1.2.3.4"),
            { concurrency: "unbounded" }
          ),
          (taken) => taken.filter(Boolean).length
        )
        assert.strictEqual(yield* burst, 10)
        assert.strictEqual(yield* burst, 0)
        yield* one.refund("sign-in", "1.2.3.4")
        assert.strictEqual(yield* burst, 1)
        yield* Effect.replicateEffect(one.refund("sign-in", "1.2.3.4"), 10, { concurrency: "unbounded" })
        for (const limiter of processes) assert.isTrue(yield* passes(limiter, "sign-in", "1.2.3.4"))
        assert.strictEqual(yield* burst, 8)
      })
  )

  it.scopedLive("RateLimiter starts a window with the first take after the previous one has ended", () =>
    Effect.gen(function* () {
      const limiter = yield* opened
      yield* limiter.take("gateway", "a")
      const refused = yield* Effect.flip(limiter.take("gateway", "a"))
      assert.isAtMost(Duration.toMillis(refused.retryAfter), 5000)
      assert.isTrue(yield* eventually(passes(limiter, "gateway", "a"), (passed) => passed))
      yield* limiter.refund("gateway", "a")
      assert.isTrue(yield* passes(limiter, "gateway", "a"))
    })
  )

  it.scopedLive(
    "RateLimiter rejects all but the gateway, which it counts alone, while its store is down, and counts again afterwards",
    () =>
      Effect.gen(function* () {
        const here = yield* place
        const door = yield* makeTcpProxy(here.url)
        const limiter = yield* start({ ...here, url: door.url })
        yield* limiter.take("sign-in", "a")
        yield* door.rejectConnections
        const refused = yield* Effect.flip(Effect.sandbox(limiter.take("sign-in", "a")))
        const defect = refused._tag === "Die" ? refused.defect : refused
        if (!(defect instanceof DependencyUnavailable)) return assert.fail(String(defect))
        assert.strictEqual(Duration.toSeconds(defect.retryAfter), 5)
        const burst = yield* Effect.replicateEffect(passes(limiter, "gateway", "a"), 20, { concurrency: "unbounded" })
        assert.lengthOf(burst.filter(Boolean), 1)
        const alone = yield* Effect.flip(limiter.take("gateway", "a"))
        assert.strictEqual(alone.limit, "gateway")
        assert.isAtMost(Duration.toMillis(alone.retryAfter), 5000)
        yield* limiter.refund("sign-in", "a")
        yield* door.acceptConnections
        yield* eventually(passes(limiter, "sign-in", "a"), (passed) => passed)
      })
  )

  it.scopedLive("RateLimiter applies a changed window at once", () =>
    Effect.gen(function* () {
      const here = yield* place
      const before = yield* start(here)
      yield* Effect.replicateEffect(before.take("register", "a"), 2)
      assert.isFalse(yield* passes(before, "register", "a"))
      const after = yield* start(here, { register: { count: 2, window: Duration.minutes(1) } })
      yield* Effect.replicateEffect(after.take("register", "a"), 2)
      const refused = yield* Effect.flip(after.take("register", "a"))
      assert.isAtMost(Duration.toSeconds(refused.retryAfter), 60)
    })
  )

  it.scopedLive("RateLimiter rejects a flooding key from memory while its store is down", () =>
    Effect.gen(function* () {
      const here = yield* place
      const door = yield* makeTcpProxy(here.url)
      const limiter = yield* start({ ...here, url: door.url })
      yield* Effect.replicateEffect(passes(limiter, "register", "flooding"), 4)
      yield* door.rejectConnections
      const refused = yield* Effect.flip(limiter.take("register", "flooding"))
      assert.strictEqual(refused.limit, "register")
      assert.isAtLeast(Duration.toSeconds(refused.retryAfter), 3500)
      yield* door.acceptConnections
    })
  )

  it.scopedLive("RateLimiter fails to start while its store is unreachable", () =>
    Effect.gen(function* () {
      const here = yield* place
      const door = yield* makeTcpProxy(here.url)
      yield* door.rejectConnections
      const failure = yield* Effect.flip(start({ ...here, url: door.url }))
      assert.strictEqual(failure._tag, "RateLimitStoreUnavailable")
    })
  )
}

describe("RateLimiter in PostgreSQL", portSpec(postgres))
describeWithTool(redisServer, "RateLimiter in Redis", portSpec(redis))
