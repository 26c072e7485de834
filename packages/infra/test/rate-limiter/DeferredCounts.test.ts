import { DeferredCounts } from "@berth/infra/rate-limiter/DeferredCounts"
import { assert, describe, it } from "@effect/vitest"
import { Duration } from "effect"
import { RateLimiterRes } from "rate-limiter-flexible"
import { setFlagsFromString } from "node:v8"
import { createContext, Script } from "node:vm"

const settle = () => new Promise((resolve) => setImmediate(resolve))

/** Writes that wait for the test. */
const makeDeferral = () => {
  let writes: Array<() => void> = []
  const writeAll = () => {
    for (const write of writes) write()
    writes = []
    return settle()
  }
  return { defer: (write: () => void) => writes.push(write), writeAll }
}

/** A store with one window, whose reports the test releases. */
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
  /** Completes a take when the store has reported it. */
  const finish = async (take: Promise<void>) => {
    await settle()
    release()
    await take
  }
  const { defer } = makeDeferral()
  const counts = new DeferredCounts({ count, now: () => 0, defer, consume, onStoreFailure: () => undefined })
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

  it("DeferredCounts admits at most the remainder of the reported window, pending takes included", async () => {
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
    const decided = [counts.take("a"), counts.take("a")]
    await settle()
    assert.strictEqual(consumed(), 3)
    await finish(Promise.resolve())
    await Promise.all(decided.map(finish))
    assert.strictEqual(consumed(), 5)
  })

  it("DeferredCounts admits no more than the limit when the store reorders concurrent takes", async () => {
    const { defer } = makeDeferral()
    let consumed = 0
    const sent: Array<() => void> = []
    const consume = async (_: string, takes: number) => {
      await new Promise<void>((resolve) => {
        sent.push(resolve)
      })
      consumed += takes
      const report = new RateLimiterRes(Math.max(0, 4 - consumed), 60_000, consumed, false)
      const rejection: unknown = report
      if (consumed > 4) throw rejection
      return report
    }
    const counts = new DeferredCounts({ count: 4, now: () => 0, defer, consume, onStoreFailure: () => undefined })
    const takes = [counts.take("a")]
    sent.shift()?.()
    await settle()
    while (counts.admit("a")) takes.push(Promise.resolve())
    const outcomes = Promise.allSettled([...takes, counts.take("a"), counts.take("a")])
    await settle()
    while (sent.length > 0) {
      sent.pop()?.()
      await settle()
    }
    assert.lengthOf(
      (await outcomes).filter(({ status }) => status === "fulfilled"),
      4
    )
  })

  it("DeferredCounts calls the store once for a burst of a new key", async () => {
    const { consumed, counts, finish } = makeStore(3)
    const burst = Array.from({ length: 3 }, () => counts.take("a"))
    await settle()
    assert.strictEqual(consumed(), 1)
    await Promise.all(burst.map(finish))
    assert.isFalse(counts.admit("a"))
  })

  it("DeferredCounts counts a burst alone when the store does not answer", async () => {
    const { defer, writeAll } = makeDeferral()
    let now = 0
    const counts = new DeferredCounts({
      count: 3,
      now: () => now,
      defer,
      consume: () => Promise.reject(new Error("down")),
      onStoreFailure: () => undefined,
      windowAlone: Duration.seconds(60)
    })
    const takeMany = () => Promise.allSettled(Array.from({ length: 10 }, () => counts.take("a")))
    const outcomes = await takeMany()
    // The caller reports the failure of the first take, which is counted.
    assert.instanceOf(outcomes[0]?.status === "rejected" ? outcomes[0].reason : undefined, Error)
    assert.deepStrictEqual(
      outcomes.slice(1).map(({ status }) => status),
      ["fulfilled", "fulfilled", ...Array.from({ length: 7 }, () => "rejected")]
    )
    const last = outcomes.at(-1)
    const refused: unknown = last?.status === "rejected" ? last.reason : undefined
    if (!(refused instanceof RateLimiterRes)) return assert.fail(String(refused))
    assert.strictEqual(refused.msBeforeNext, 60_000)
    await writeAll()
    now = 60_000
    assert.lengthOf(
      (await takeMany()).filter(({ status }) => status === "fulfilled"),
      2
    )
  })

  it("DeferredCounts leaves a key to the store after it is evicted", async () => {
    const { counts, finish } = makeStore(5)
    await finish(counts.take("a"))
    counts.forget("a")
    assert.isFalse(counts.admit("a"))
  })

  it("DeferredCounts admits no more than the limit in a window while the store fails", async () => {
    const { defer, writeAll } = makeDeferral()
    let failures = 0
    const reports = [new RateLimiterRes(2, 60_000, 1, true)]
    const counts = new DeferredCounts({
      count: 3,
      now: () => 0,
      defer,
      consume: async () => reports.shift() ?? Promise.reject(new Error("down")),
      onStoreFailure: () => {
        failures += 1
      }
    })
    await counts.take("a")
    assert.deepStrictEqual([counts.admit("a"), counts.admit("a")], [true, true])
    await writeAll()
    assert.strictEqual(failures, 1)
    assert.isFalse(counts.admit("a"))
  })

  it("DeferredCounts keeps the takes that a failed write has lost when the store answers again", async () => {
    const { defer, writeAll } = makeDeferral()
    let consumed = 0
    let isDown = false
    const counts = new DeferredCounts({
      count: 4,
      now: () => 0,
      defer,
      consume: async (_, takes) => {
        if (isDown) throw new Error("down")
        consumed += takes
        return new RateLimiterRes(4 - consumed, 60_000, consumed, false)
      },
      onStoreFailure: () => undefined,
      windowAlone: Duration.seconds(60)
    })
    await counts.take("a")
    for (const fails of [true, false]) {
      isDown = fails
      assert.isTrue(counts.admit("a"))
      await writeAll()
    }
    assert.deepStrictEqual([counts.admit("a"), counts.admit("a")], [true, false])
  })

  it("DeferredCounts keeps nothing of the writes that the store has reported", async () => {
    const { defer, writeAll } = makeDeferral()
    setFlagsFromString("--expose-gc")
    const collectGarbage = new Script("gc()")
    const context = createContext()
    const report = new RateLimiterRes(1, 60_000, 1, false)
    const counts = new DeferredCounts({
      count: 1_000_000,
      now: () => 0,
      defer,
      consume: () => Promise.resolve(report),
      onStoreFailure: () => undefined
    })
    const write = async (times: number) => {
      for (let written = 0; written < times; written += 1) {
        assert.isTrue(counts.admit("a"))
        await writeAll()
      }
      collectGarbage.runInContext(context)
      return process.memoryUsage().heapUsed
    }
    await counts.take("a")
    const before = await write(1000)
    assert.isBelow((await write(40_000)) - before, 1_000_000)
  })
})
