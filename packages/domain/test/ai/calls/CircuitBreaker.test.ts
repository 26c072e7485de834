import { ProviderFailed } from "@berth/domain/ai/models/ModelErrors"
import {
  admitCall,
  type CircuitBreakerState,
  closedBreaker,
  recordCallVerdict,
  classifyFailure
} from "@berth/domain/ai/calls/CircuitBreaker"
import { makeCircuitBreakers } from "@berth/domain/ai/calls/CircuitBreakers"
import { computeRetryDelay } from "@berth/domain/ai/calls/CallRetryPolicy"
import { assert, describe, it } from "@effect/vitest"
import { Duration, FastCheck, Option } from "effect"
import { makeModel } from "../ModelSamples.ts"

const policy = { failures: 3, cooldown: Duration.seconds(30) }

const failedTimes = (times: number, now: number): CircuitBreakerState =>
  Array.from({ length: times }).reduce<CircuitBreakerState>(
    (state) => recordCallVerdict(state, "down", now, policy),
    closedBreaker
  )

const failure = (kind: ProviderFailed["kind"], retryAfter?: Duration.Duration) =>
  new ProviderFailed({ provider: "openai", kind, reason: "test", retryAfter })

describe("a circuit breaker", () => {
  it("A CircuitBreaker opens after its failures in a row, admits one probe after the cooldown, and closes with it", () => {
    assert.isTrue(admitCall(failedTimes(2, 0), 0, policy)[0])
    const open = failedTimes(3, 0)
    assert.deepStrictEqual(admitCall(open, 29_999, policy), [false, open])
    const [may, probing] = admitCall(open, 30_000, policy)
    assert.isTrue(may)
    assert.isFalse(admitCall(probing, 30_001, policy)[0])
    assert.deepStrictEqual(recordCallVerdict(probing, "up", 30_002, policy), closedBreaker)
    assert.isFalse(admitCall(recordCallVerdict(probing, "down", 30_002, policy), 60_001, policy)[0])
    assert.isTrue(admitCall(recordCallVerdict(probing, "nothing", 30_002, policy), 30_002, policy)[0])
  })

  it("A CircuitBreaker admits another probe when one never ended", () => {
    const [, probing] = admitCall(failedTimes(3, 0), 30_000, policy)
    assert.isTrue(admitCall(probing, 60_000, policy)[0])
  })

  it.prop(
    "A CircuitBreaker admits a call after the cooldown, whatever happened",
    [FastCheck.array(FastCheck.constantFrom(...(["up", "down", "nothing", "ask"] as const)))],
    ([events]) => {
      const state = events.reduce<CircuitBreakerState>(
        (before, event) =>
          event === "ask" ? admitCall(before, 0, policy)[1] : recordCallVerdict(before, event, 0, policy),
        closedBreaker
      )
      assert.isTrue(admitCall(state, 30_000, policy)[0])
    }
  )

  it.prop(
    "A CircuitBreaker opens only after failures in a row",
    [FastCheck.array(FastCheck.constantFrom(...(["up", "down"] as const)))],
    ([events]) => {
      const state = events.reduce<CircuitBreakerState>(
        (before, event) => recordCallVerdict(before, event, 0, policy),
        closedBreaker
      )
      const hasRun = events.join(" ").includes("down down down")
      if (!hasRun) assert.isTrue(admitCall(state, 0, policy)[0])
      if (events.at(-1) === "up") assert.deepStrictEqual(state, closedBreaker)
    }
  )
})

describe("the breakers of a process", () => {
  const call = (id: string) => ({ provider: "openrouter" as const, model: makeModel({ id }) })

  it("The breakers of a process keep a provider's other models when one of them is down", () => {
    const breakers = makeCircuitBreakers(policy)
    for (const now of [1, 2, 3]) breakers.recordFailure(call("a/broken"), failure("overloaded"), now)
    assert.isFalse(breakers.admit(call("a/broken"), 4))
    assert.isTrue(breakers.admit(call("a/fine"), 4))
  })

  it("The breakers of a process skip an unreachable provider until it is back", () => {
    const breakers = makeCircuitBreakers(policy)
    for (const id of ["a/x", "a/y", "a/z"]) breakers.recordFailure(call(id), failure("unreachable"), 0)
    assert.isFalse(breakers.admit(call("a/other"), 0))
    const later = 30_000
    assert.isTrue(breakers.admit(call("a/other"), later))
    assert.isFalse(breakers.admit(call("a/x"), later))
    breakers.recordSuccess(call("a/other"), later)
    assert.isTrue(breakers.admit(call("a/x"), later))
  })

  it("The breakers of a process ignore rejected requests", () => {
    const breakers = makeCircuitBreakers(policy)
    for (const now of [1, 2, 3, 4]) breakers.recordFailure(call("a/x"), failure("refused"), now)
    assert.isTrue(breakers.admit(call("a/x"), 5))
    assert.deepStrictEqual(classifyFailure(failure("rate-limited")), { provider: "up", model: "nothing" })
  })
})

const kinds = ["unreachable", "timeout", "rate-limited", "unauthorized", "refused", "overloaded", "nonsense"] as const

describe("retryDelay", () => {
  const retry = { retries: 2, base: Duration.millis(250), maximumRetryAfter: Duration.seconds(5) }

  it("retryDelay grows with each attempt and follows Retry-After", () => {
    assert.deepStrictEqual(computeRetryDelay(failure("overloaded"), 1, 0.5, retry), Option.some(Duration.millis(250)))
    assert.deepStrictEqual(computeRetryDelay(failure("overloaded"), 2, 0.5, retry), Option.some(Duration.millis(500)))
    assert.deepStrictEqual(computeRetryDelay(failure("overloaded"), 3, 0.5, retry), Option.none())
    const requested = failure("rate-limited", Duration.seconds(2))
    assert.deepStrictEqual(computeRetryDelay(requested, 1, 0.5, retry), Option.some(Duration.seconds(2)))
    assert.deepStrictEqual(
      computeRetryDelay(failure("rate-limited", Duration.seconds(6)), 1, 0.5, retry),
      Option.none()
    )
  })

  it.prop(
    "retryDelay is bounded, and none for failures that persist",
    [
      FastCheck.constantFrom(...kinds),
      FastCheck.integer({ min: 1, max: 5 }),
      FastCheck.double({ min: 0, max: 1, noNaN: true })
    ],
    ([kind, tries, jitter]) => {
      const delay = computeRetryDelay(failure(kind), tries, jitter, retry)
      const passes = kind === "unreachable" || kind === "overloaded" || kind === "rate-limited"
      assert.strictEqual(Option.isSome(delay), passes && tries <= 2)
      if (Option.isSome(delay)) assert.isAtMost(Duration.toMillis(delay.value), 750)
    }
  )
})
