import { type MessageChain, continueChain, emptyChain, extendChain, maximumDepth } from "@berth/domain/a2a/Delegation"
import { shareLimit, unusedTurn } from "@berth/domain/interaction/turns/TurnPricing"
import { AgentId } from "@berth/domain/shared/AgentId"
import { Units } from "@berth/domain/shared/Money"
import { assert, describe, it } from "@effect/vitest"
import { Either, FastCheck, Option } from "effect"

const agent = (index: number) => AgentId.make(`agt_${index}`)
const prices = { priceMargin: 1.3, budgetUsd: 0.25 }

interface Task {
  readonly chain: MessageChain
  readonly at: AgentId
  readonly limit: number
}

/**
 * Delegates along edges from a first agent, breadth first, within the limits of each chain and budget; returns the
 * tasks.
 */
const run = (edges: ReadonlyArray<readonly [number, number, number]>, budget: number) => {
  const tasks: Array<Task> = []
  let waiting: ReadonlyArray<Task> = [{ chain: emptyChain, at: agent(0), limit: budget }]
  while (waiting.length > 0) {
    const next: Array<Task> = []
    for (const { at, chain, limit } of waiting) {
      let left = Units(limit)
      for (const [from, to, wanted] of edges) {
        if (agent(from) !== at) continue
        const extended = extendChain(chain, { from: at, to: agent(to) })
        const share = shareLimit(prices, unusedTurn, left, wanted === 0 ? undefined : Units(wanted))
        if (Either.isLeft(extended) || Option.isNone(share)) continue
        left = Units(left - share.value)
        next.push({ chain: continueChain(extended.right, agent(to)), at: agent(to), limit: share.value })
      }
      // Each turn costs one unit.
      tasks.push({ chain, at, limit: left })
    }
    waiting = next
  }
  return tasks
}

describe("Delegation", () => {
  it.prop(
    "No graph of delegations exceeds the depth or the budget, or visits an agent twice in a chain",
    [
      FastCheck.array(FastCheck.tuple(FastCheck.nat(5), FastCheck.nat(5), FastCheck.nat(4)), { maxLength: 24 }),
      FastCheck.integer({ min: 1, max: 30 })
    ],
    ([edges, budget]) => {
      const tasks = run(edges, budget)
      return (
        tasks.length <= budget &&
        tasks.reduce((sum, { limit }) => sum + limit, 0) === budget &&
        tasks.every(
          ({ chain: { depth, path }, limit }) =>
            limit >= 1 && depth <= maximumDepth + 1 && new Set(path).size === path.length && path.length === depth
        )
      )
    }
  )

  const chain: MessageChain = { depth: 2, path: [agent(1), agent(2)] }
  const call = { from: agent(2), to: agent(3) }

  it("extendChain lets the sender join the path, and counts the longer of depth and path", () => {
    for (const first of [
      { depth: 0, path: [] },
      { depth: 1, path: [] },
      { depth: 0, path: [agent(2)] }
    ])
      assert.deepStrictEqual(Either.getOrThrow(extendChain(first, call)), { depth: 1, path: [agent(2)] })
    assert.strictEqual(Either.getOrThrow(extendChain({ ...chain, depth: 4 }, call)).depth, 4)
    assert.deepStrictEqual(continueChain(chain, agent(3)), { depth: 3, path: [agent(1), agent(2), agent(3)] })
  })

  for (const [fault, changed, to] of [
    ["a negative depth", { ...chain, depth: -1 }, call.to],
    ["a sender in the middle of the path", { ...chain, path: [agent(2), agent(1)] }, call.to],
    ["a path with the receiver", chain, agent(1)],
    ["a path with an agent twice", { depth: 3, path: [agent(2), agent(1), agent(2)] }, call.to],
    ["a depth above the maximum", { depth: maximumDepth + 1, path: [4, 5, 6, 7, 8, 2].map(agent) }, call.to]
  ] as const)
    it(`extendChain refuses ${fault}`, () =>
      assert.isTrue(Either.isLeft(extendChain(changed, { from: call.from, to }))))

  it("shareLimit keeps what the turn has cost, and refuses more than is left", () => {
    const share = (limit: number, wanted?: number) =>
      Option.getOrNull(shareLimit(prices, unusedTurn, Units(limit), wanted === undefined ? undefined : Units(wanted)))
    assert.deepStrictEqual(
      [share(6), share(6, 5), share(6, 6), share(1), share(1, 1), share(6, 0), share(6, -1)],
      [3, 5, null, null, null, null, null]
    )
  })
})
