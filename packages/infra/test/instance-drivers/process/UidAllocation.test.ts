import { allocateUid, isInUidRange, selectUidRange } from "@berth/infra/instance-drivers/process/UidAllocation"
import { describe, expect, it } from "@effect/vitest"
import { FastCheck, Option } from "effect"

const range = { first: 1000, size: 50 }
const owners = FastCheck.uniqueArray(FastCheck.string(), { maxLength: 50 })

describe("a cell's account", () => {
  it.prop("is nobody else's, for as many owners as there are accounts", [owners], ([all]) => {
    const taken = new Set<number>()
    for (const owner of all) {
      const uid = Option.getOrThrow(allocateUid(range, owner, taken))
      expect(isInUidRange(range, uid)).toBe(true)
      expect(taken.has(uid)).toBe(false)
      taken.add(uid)
    }
  })

  it.prop(
    "is the same for the same owner among the same others",
    [FastCheck.string(), FastCheck.uniqueArray(FastCheck.integer({ min: 1000, max: 1048 }))],
    ([owner, taken]) => {
      const one = allocateUid(range, owner, new Set(taken))
      expect(allocateUid(range, owner, new Set(taken.toReversed()))).toStrictEqual(one)
      expect(Option.isSome(one)).toBe(true)
    }
  )

  it("is refused when all are taken", () => {
    const all = new Set(Array.from({ length: 50 }, (_, at) => 1000 + at))
    expect(allocateUid(range, "usr_1", all)).toStrictEqual(Option.none())
  })
})

describe("the accounts for cells", () => {
  const first = (map: string | null) => Option.map(selectUidRange(map), (found) => found.first)

  it("are far above those of people and containers where everything is mapped", () => {
    expect(first("         0          0 4294967295\n")).toStrictEqual(Option.some(1_900_000_000))
    expect(first(null)).toStrictEqual(Option.some(1_900_000_000))
  })

  it("are among the lower ones in a container with a user namespace", () => {
    expect(first("         0     100000      65536\n")).toStrictEqual(Option.some(20_000))
    expect(first("0 1000 1\n1 100000 65535\n")).toStrictEqual(Option.some(20_000))
  })

  it("are none where root stands alone", () => {
    expect(first("         0       1000          1\n")).toStrictEqual(Option.none())
    expect(first("")).toStrictEqual(Option.none())
  })
})
