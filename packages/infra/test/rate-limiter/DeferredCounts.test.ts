import { DeferredCounts } from "@berth/infra/rate-limiter/DeferredCounts"
import { assert, describe, it } from "@effect/vitest"
import { RateLimiterRes } from "rate-limiter-flexible"

/** A store with one window, whose reports come when they are released. */
const makeStore = (count: number) => {
  let consumed = 0
  let releases: Array<() => void> = []
  const consume = (_: string, takes: number) => {
    consumed += takes
    const report = new RateLimiterRes(Math.max(0, count - consumed), 60_000, consumed, false)
    return new Promise<RateLimiterRes>((resolve) => {
      releases.push(() => resolve(report))
    })
  }
  const release = () => {
    for (const each of releases) each()
    releases = []
  }
  const counts = new DeferredCounts({ count, now: () => 0, consume, onStoreFailure: () => undefined })
  return { counts, consumed: () => consumed, release }
}

describe("DeferredCounts", () => {
  it("DeferredCounts admits nothing for a key that the store has not reported", async () => {
    const { counts, release } = makeStore(10)
    assert.isFalse(counts.admit("a"))
    const first = counts.take("a")
    assert.isFalse(counts.admit("a"))
    release()
    await first
    assert.isTrue(counts.admit("a"))
    assert.isFalse(counts.admit("b"))
  })

  it("DeferredCounts admits at most what the reported window has left, takes on their way included", async () => {
    const { consumed, counts, release } = makeStore(5)
    const first = counts.take("a")
    release()
    await first
    const onTheWay = counts.take("a")
    assert.deepStrictEqual(
      Array.from({ length: 5 }, () => counts.admit("a")),
      [true, true, true, false, false]
    )
    release()
    await onTheWay
    assert.strictEqual(consumed(), 2)
    assert.isFalse(counts.admit("a"))
  })

  it("DeferredCounts leaves a key to the store after it is forgotten", async () => {
    const { counts, release } = makeStore(5)
    const first = counts.take("a")
    release()
    await first
    counts.forget("a")
    assert.isFalse(counts.admit("a"))
  })
})
