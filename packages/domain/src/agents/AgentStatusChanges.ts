import { Effect } from "effect"
import { DomainEvents } from "../events/DomainEvents.ts"
import { Transaction } from "../persistence/Transaction.ts"
import type { Agent } from "./Agent.ts"
import { AgentRepository } from "./AgentRepository.ts"
import type { AgentStatus } from "./AgentStatus.ts"

/** Writes a status together with its event. */
export const makeAgentStatusChange = Effect.gen(function* () {
  const agents = yield* AgentRepository
  const events = yield* DomainEvents
  const transaction = yield* Transaction

  /** Compare-and-set: false if the status has changed. */
  return ({ id, name, ownerId, status: previousStatus }: Agent, status: AgentStatus) =>
    transaction.run(
      Effect.tap(agents.changeStatus(id, previousStatus, status), (isChanged) =>
        isChanged && status !== previousStatus
          ? events.append({ kind: "agent.status", data: { agentId: id, name, status, previousStatus } }, ownerId)
          : Effect.void
      )
    )
})
