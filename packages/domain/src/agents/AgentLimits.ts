import { Effect } from "effect"
import type { Agent } from "./Agent.ts"
import { AgentRepository } from "./AgentRepository.ts"
import { isUp } from "./AgentStatus.ts"
import type { UserId } from "../shared/UserId.ts"

const oldestFirst = (a: Agent, b: Agent) => a.createdAt.epochMillis - b.createdAt.epochMillis || (a.id < b.id ? -1 : 1)

/** The agents over the limit, of those that are up or in provisioning. The oldest stay. */
export const selectAgentsOverLimit = (agents: ReadonlyArray<Agent>, limit: number): ReadonlyArray<Agent> =>
  agents
    .filter(({ status }) => isUp(status) || status === "provisioning")
    .toSorted(oldestFirst)
    .slice(limit)

/** Enforces a plan's limit of agents. */
export class AgentLimits extends Effect.Service<AgentLimits>()("@berth/AgentLimits", {
  effect: Effect.gen(function* () {
    const repository = yield* AgentRepository

    /** Serializes the running transaction with provisioning of the same owner. */
    const lockOwner = Effect.fn("AgentLimits.lockOwner")(function* (ownerId: UserId) {
      yield* repository.lockOwner(ownerId)
    })

    /** Stops the agents over the limit and returns them. Their owner can start them again within the limit. */
    const enforce = Effect.fn("AgentLimits.enforce")(function* (ownerId: UserId, limit: number) {
      const over = selectAgentsOverLimit(yield* repository.listOwned(ownerId), limit)
      return yield* Effect.filter(over, ({ id, status }) => repository.changeStatus(id, status, "stopped"))
    })

    return { lockOwner, enforce }
  })
}) {}
