import { computeStorageShare, mayTakeMore } from "@berth/domain/provisioning/live-streams/FairShare"
import { liveLimits } from "@berth/domain/provisioning/live-streams/LiveStream"
import { UserId } from "@berth/domain/shared/UserId"
import { assert, describe, it } from "@effect/vitest"
import { FastCheck } from "effect"

const { maximumFileBytes, storedBytes, storedBytesPerStream } = liveLimits

const storage = FastCheck.uniqueArray(
  FastCheck.record({
    ownerId: FastCheck.nat(1000).map((n) => UserId.make(`usr_${n}`)),
    streams: FastCheck.integer({ min: 1, max: 100 }),
    bytes: FastCheck.integer({ min: 0, max: 2 * storedBytes })
  }),
  { selector: ({ ownerId }) => ownerId, minLength: 1, maxLength: 60 }
)

describe("The storage of live streams", () => {
  it.prop("A stream has its whole part while the total is free", [storage], ([all]) => {
    const few = all.map((one) => ({ ...one, bytes: Math.floor(storedBytes / all.length) }))
    assert.strictEqual(computeStorageShare(few, UserId.make("usr_new")), storedBytesPerStream)
  })

  it.prop("Above the total, shares depend on the number of owners, not on what others hold", [storage], ([all]) => {
    const full = all.map((one) => ({ ...one, bytes: storedBytes + 1 }))
    const fuller = full.map((one) => ({ ...one, bytes: 2 * one.bytes, streams: 2 * one.streams }))
    const newcomer = UserId.make("usr_new")
    const share = computeStorageShare(full, newcomer)
    assert.strictEqual(computeStorageShare(fuller, newcomer), share)
    assert.isAtLeast(share, Math.min(storedBytesPerStream, Math.floor(storedBytes / (all.length + 1))))
    assert.isAtMost(share, storedBytesPerStream)
    for (const { ownerId, streams } of full) {
      const each = computeStorageShare(full, ownerId)
      assert.isAtLeast(each, maximumFileBytes)
      assert.isAtMost(each * streams, Math.max(storedBytes / full.length, maximumFileBytes * streams))
    }
  })
})

describe("A shared capacity", () => {
  it.prop(
    "A flood of one holder leaves every other its equal share, and the total stays below twice the capacity",
    [FastCheck.array(FastCheck.nat(9), { maxLength: 400 })],
    ([takers]) => {
      const capacity = 50
      const held = new Map<number, number>()
      for (const taker of [...Array.from({ length: 500 }, () => 99), ...takers]) {
        const total = [...held.values()].reduce((sum, one) => sum + one, 0)
        const own = held.get(taker) ?? 0
        const holders = held.has(taker) ? held.size : held.size + 1
        const mayTake = mayTakeMore({ capacity, held: own, holders, total })
        if (own < Math.floor(capacity / holders)) assert.isTrue(mayTake)
        if (mayTake) held.set(taker, own + 1)
      }
      const taken = [...held.values()].reduce((sum, one) => sum + one, 0)
      // Each of the at most eleven holders takes at most its share at its arrival, plus one.
      assert.isAtMost(
        taken,
        capacity * (1 + Array.from({ length: 10 }, (_, n) => 1 / (n + 2)).reduce((a, b) => a + b)) + 11
      )
    }
  )
})
