import { allocateUid, isInUidRange, selectUidRange } from "@berth/infra/instance-drivers/process/UidAllocation"
import { assert, describe, it } from "@effect/vitest"
import { FastCheck, Option } from "effect"

const range = { first: 1000, size: 50 }
const owners = FastCheck.uniqueArray(FastCheck.string(), { maxLength: 50 })

describe("allocateUid", () => {
  it.prop("allocateUid gives each owner its own id, until the range is exhausted", [owners], ([all]) => {
    const taken = new Set<number>()
    for (const owner of all) {
      const uid = Option.getOrThrow(allocateUid(range, owner, taken))
      assert.isTrue(isInUidRange(range, uid))
      assert.isFalse(taken.has(uid))
      taken.add(uid)
    }
  })

  it.prop(
    "allocateUid is deterministic per owner and taken ids",
    [FastCheck.string(), FastCheck.uniqueArray(FastCheck.integer({ min: 1000, max: 1048 }))],
    ([owner, taken]) => {
      const one = allocateUid(range, owner, new Set(taken))
      assert.deepStrictEqual(allocateUid(range, owner, new Set(taken.toReversed())), one)
      assert.isTrue(Option.isSome(one))
    }
  )

  it("allocateUid returns none when all ids are taken", () => {
    const all = new Set(Array.from({ length: 50 }, (_, at) => 1000 + at))
    assert.deepStrictEqual(allocateUid(range, "usr_1", all), Option.none())
  })
})

describe("selectUidRange", () => {
  const first = (map: string | null) => Option.map(selectUidRange(map), (found) => found.first)

  it("selectUidRange prefers the range above people and containers", () => {
    assert.deepStrictEqual(first("         0          0 4294967295\n"), Option.some(1_900_000_000))
    assert.deepStrictEqual(first(null), Option.some(1_900_000_000))
  })

  it("selectUidRange chooses lower ids in a user namespace of a container", () => {
    assert.deepStrictEqual(first("         0     100000      65536\n"), Option.some(20_000))
    assert.deepStrictEqual(first("0 1000 1\n1 100000 65535\n"), Option.some(20_000))
  })

  it("selectUidRange returns none where only root is mapped", () => {
    assert.deepStrictEqual(first("         0       1000          1\n"), Option.none())
    assert.deepStrictEqual(first(""), Option.none())
  })
})
