import { planReaders, type ReaderCandidate } from "@berth/domain/channels/ReaderShares"
import { AgentId } from "@berth/domain/shared/AgentId"
import { UserId } from "@berth/domain/shared/UserId"
import { assert, describe, it } from "@effect/vitest"
import { Array, FastCheck } from "effect"

/** Connections of owners as letters: `aab` is two of one owner and one of another. */
const connectionsOf = (owners: string, from = 0) =>
  Array.fromIterable(owners).map((owner, index): ReaderCandidate => ({
    agentId: AgentId.make(`agt_${from + index}`),
    ownerId: UserId.make(`usr_${owner}`),
    platform: "platformA"
  }))
const ownersOf = (readers: ReadonlyArray<ReaderCandidate>) =>
  readers
    .map(({ ownerId }) => ownerId.slice(4))
    .toSorted()
    .join("")

const plan = (running: string, unread: string, maximum: number) => {
  const { begin, end } = planReaders(connectionsOf(running), connectionsOf(unread, 1000), maximum)
  return { begin: ownersOf(begin), end: ownersOf(end) }
}

describe("Readers of channels", () => {
  it("planReaders begins all connections while there is room", () => {
    assert.deepStrictEqual(plan("ab", "aac", 5), { begin: "aac", end: "" })
  })

  it("planReaders ends readers of an owner who holds all of them, in favor of another owner", () => {
    assert.deepStrictEqual(plan("aaaa", "bbb", 4), { begin: "bb", end: "aa" })
    assert.deepStrictEqual(plan("aaab", "c", 4), { begin: "c", end: "a" })
  })

  it("planReaders ends none for an owner who has an equal share", () => {
    assert.deepStrictEqual(plan("aabb", "aab", 4), { begin: "", end: "" })
  })

  it.prop(
    "planReaders fills the room, and is stable",
    [FastCheck.string({ unit: FastCheck.constantFrom("a", "b", "c", "d"), maxLength: 20 }), FastCheck.nat(20)],
    ([owners, maximum]) => {
      const unread = connectionsOf(owners)
      const { begin } = planReaders([], unread, maximum)
      assert.lengthOf(begin, Math.min(maximum, unread.length))
      const rest = unread.filter((one) => !begin.includes(one))
      assert.deepStrictEqual(planReaders(begin, rest, maximum), { begin: [], end: [] })
    }
  )
})
