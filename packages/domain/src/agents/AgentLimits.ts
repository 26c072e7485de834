import { Effect, Layer } from "effect"
import { PlanEnforcement } from "../billing/subscriptions/PlanEnforcement.ts"
import { ReconfigureInstanceJob } from "./AgentJobs.ts"
import type { DomainEvents } from "../events/DomainEvents.ts"
import { Outbox } from "../jobs/Outbox.ts"
import type { Transaction } from "../persistence/Transaction.ts"
import type { UserId } from "../shared/UserId.ts"
import type { Agent } from "./Agent.ts"
import { AgentRepository } from "./AgentRepository.ts"
import { makeAgentStatusChange } from "./AgentStatusChanges.ts"
import { isUp } from "./AgentStatus.ts"

/** Order of creation. */
export const oldestFirst = (a: Agent, b: Agent) =>
  a.createdAt.epochMillis - b.createdAt.epochMillis || (a.id < b.id ? -1 : 1)

/** Returns the running or starting agents above the limit; the oldest keep running. */
const selectAgentsOverLimit = (agents: ReadonlyArray<Agent>, limit: number): ReadonlyArray<Agent> =>
  agents
    .filter(({ status }) => isUp(status) || status === "provisioning")
    .toSorted(oldestFirst)
    .slice(limit)

export const layer: Layer.Layer<PlanEnforcement, never, AgentRepository | Outbox | DomainEvents | Transaction> =
  Layer.effect(
    PlanEnforcement,
    Effect.gen(function* () {
      const agents = yield* AgentRepository
      const outbox = yield* Outbox
      const changeStatus = yield* makeAgentStatusChange

      return PlanEnforcement.of({
        lockOwner: agents.lockOwner,
        enforce: Effect.fn("PlanEnforcement.enforce")(function* (userId: UserId, limit: number) {
          const over = selectAgentsOverLimit(yield* agents.listOwned(userId), limit)
          const stopped = yield* Effect.filter(over, (agent) => changeStatus(agent, "stopped"))
          if (stopped.length > 0)
            yield* Effect.logInfo("Agents over the plan limit stopped").pipe(
              Effect.annotateLogs({ userId, agentIds: stopped.map(({ id }) => id), limit })
            )
          return stopped.length
        }),
        entitlementsChanged: Effect.fn("PlanEnforcement.entitlementsChanged")(function* (userId: UserId) {
          yield* outbox.append(ReconfigureInstanceJob, { userId }, userId)
        })
      })
    })
  )
