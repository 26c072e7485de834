import { type Delegation, delegationUnits, extendDelegation, maximumDepth } from "@berth/domain/a2a/Delegation"
import { AgentId } from "@berth/domain/shared/AgentId"
import { assert, describe, it } from "@effect/vitest"
import { Either, FastCheck } from "effect"

const agent = (index: number) => AgentId.make(`agt_${index}`)

/** Delegates along edges from a first agent, breadth first, as far as each chain goes; returns the calls. */
const run = (edges: ReadonlyArray<readonly [number, number]>, budgetUnits: number) => {
  const calls: Array<Delegation> = []
  let waiting: ReadonlyArray<Delegation> = [{ depth: 1, path: [agent(0)], budgetUnits }]
  while (waiting.length > 0) {
    const next: Array<Delegation> = []
    for (const chain of waiting) {
      // A sender spends one budget: each of its calls leaves less for the next one.
      let left = chain.budgetUnits
      for (const [from, to] of edges) {
        const [sender, receiver] = [agent(from), agent(to)]
        if (chain.path.at(-1) !== sender) continue
        const extended = extendDelegation({ ...chain, budgetUnits: left }, { from: sender, to: receiver })
        if (Either.isLeft(extended)) continue
        calls.push(extended.right)
        left = 0
        next.push(extended.right)
      }
    }
    waiting = next
  }
  return calls
}

describe("extendDelegation", () => {
  it.prop(
    "extendDelegation lets no graph of delegations exceed the depth or the budget, or visit an agent twice in a chain",
    [
      FastCheck.array(FastCheck.tuple(FastCheck.nat(5), FastCheck.nat(5)), { maxLength: 24 }),
      FastCheck.integer({ min: -1, max: 8 })
    ],
    ([edges, budget]) => {
      const calls = run(edges, budget)
      return (
        calls.length * delegationUnits <= Math.max(0, budget) &&
        calls.every(
          ({ budgetUnits, depth, path }) =>
            budgetUnits >= 0 &&
            depth <= maximumDepth + 1 &&
            path.length === depth &&
            new Set(path).size === path.length &&
            budgetUnits === budget - (depth - 1) * delegationUnits
        )
      )
    }
  )

  const chain: Delegation = { depth: 2, path: [agent(1), agent(2)], budgetUnits: 3 }
  const call = { from: agent(2), to: agent(3) }

  it("extendDelegation appends the receiver and takes the units of its call", () =>
    assert.deepStrictEqual(Either.getOrThrow(extendDelegation(chain, call)), {
      depth: 3,
      path: [agent(1), agent(2), agent(3)],
      budgetUnits: 2
    }))

  it("extendDelegation lets the sender join the path, and counts the longer of depth and path", () => {
    for (const first of [
      { depth: 0, path: [] },
      { depth: 1, path: [] },
      { depth: 0, path: [agent(2)] }
    ])
      assert.deepStrictEqual(Either.getOrThrow(extendDelegation({ ...first, budgetUnits: 1 }, call)), {
        depth: 2,
        path: [agent(2), agent(3)],
        budgetUnits: 0
      })
    assert.strictEqual(Either.getOrThrow(extendDelegation({ ...chain, depth: 4 }, call)).depth, 5)
  })

  for (const [fault, changed, to] of [
    ["an empty budget", { ...chain, budgetUnits: 0 }, call.to],
    ["a negative budget", { ...chain, budgetUnits: -1 }, call.to],
    ["a negative depth", { ...chain, depth: -1 }, call.to],
    ["a sender in the middle of the path", { ...chain, path: [agent(2), agent(1)] }, call.to],
    ["a path with the receiver", chain, agent(1)],
    ["a path with an agent twice", { ...chain, depth: 3, path: [agent(2), agent(1), agent(2)] }, call.to],
    ["a depth above the maximum", { ...chain, depth: maximumDepth + 1, path: [4, 5, 6, 7, 8, 2].map(agent) }, call.to]
  ] as const)
    it(`extendDelegation refuses ${fault}`, () =>
      assert.isTrue(Either.isLeft(extendDelegation(changed, { from: call.from, to }))))
})
