import { Effect } from "effect"
import type { Agent } from "./Agent.ts"
import { AgentRepository } from "./AgentRepository.ts"
import { isUp } from "./AgentStatus.ts"
import type { UserId } from "../shared/UserId.ts"

const oldestFirst = (a: Agent, b: Agent) => a.createdAt.epochMillis - b.createdAt.epochMillis || (a.id < b.id ? -1 : 1)

/** Of the agents that are up, or about to be, those that a limit has no room for: the oldest stay. */
export const selectAgentsOverLimit = (agents: ReadonlyArray<Agent>, limit: number): ReadonlyArray<Agent> =>
  agents
    .filter(({ status }) => isUp(status) || status === "provisioning")
    .toSorted(oldestFirst)
    .slice(limit)

/** What a plan that became smaller does to the agents. */
export class AgentLimits extends Effect.Service<AgentLimits>()("@berth/AgentLimits", {
  effect: Effect.gen(function* () {
    const repository = yield* AgentRepository

    /** Whoever wants to count the owner's agents, or to make one, does it before or after the running transaction. */
    const lockOwner = Effect.fn("AgentLimits.lockOwner")(function* (ownerId: UserId) {
      yield* repository.lockOwner(ownerId)
    })

    /** Stops the agents over the limit, and deletes none: they start again when their owner wants it and has room. */
    const enforce = Effect.fn("AgentLimits.enforce")(function* (ownerId: UserId, limit: number) {
      const over = selectAgentsOverLimit(yield* repository.listOwned(ownerId), limit)
      return yield* Effect.filter(over, ({ id, status }) => repository.changeStatus(id, status, "stopped"))
    })

    return { lockOwner, enforce }
  })
}) {}
