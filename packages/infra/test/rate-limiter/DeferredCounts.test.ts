import { DeferredCounts } from "@berth/infra/rate-limiter/DeferredCounts"
import { assert, describe, it } from "@effect/vitest"
import { RateLimiterRes } from "rate-limiter-flexible"

const settle = () => new Promise((resolve) => setImmediate(resolve))

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
  /** Runs a take until the store has reported it. */
  const finish = async (take: Promise<void>) => {
    await settle()
    release()
    await take
  }
  const counts = new DeferredCounts({ count, now: () => 0, consume, onStoreFailure: () => undefined })
  return { counts, consumed: () => consumed, finish }
}

describe("DeferredCounts", () => {
  it("DeferredCounts admits nothing for a key that the store has not reported", async () => {
    const { counts, finish } = makeStore(10)
    assert.isFalse(counts.admit("a"))
    const first = counts.take("a")
    assert.isFalse(counts.admit("a"))
    await finish(first)
    assert.isTrue(counts.admit("a"))
    assert.isFalse(counts.admit("b"))
  })

  it("DeferredCounts admits at most what the reported window has left, takes on their way included", async () => {
    const { counts, finish } = makeStore(5)
    await finish(counts.take("a"))
    const onTheWay = counts.take("a")
    await settle()
    assert.deepStrictEqual(
      Array.from({ length: 5 }, () => counts.admit("a")),
      [true, true, true, false, false]
    )
    await finish(onTheWay)
    assert.isFalse(counts.admit("a"))
  })

  it("DeferredCounts counts the admitted takes at the store before the next one that the store decides", async () => {
    const { consumed, counts, finish } = makeStore(3)
    await finish(counts.take("a"))
    assert.deepStrictEqual([counts.admit("a"), counts.admit("a"), counts.admit("a")], [true, true, false])
    await finish(counts.take("a"))
    assert.strictEqual(consumed(), 4)
  })

  it("DeferredCounts leaves a key to the store after it is forgotten", async () => {
    const { counts, finish } = makeStore(5)
    await finish(counts.take("a"))
    counts.forget("a")
    assert.isFalse(counts.admit("a"))
  })
})
