import { Effect } from "effect"
import { Outbox } from "../jobs/Outbox.ts"
import { Transaction } from "../persistence/Transaction.ts"
import type { Agent } from "./Agent.ts"
import { AgentInstances } from "./AgentInstances.ts"
import { ReconfigureInstanceJob } from "./AgentJobs.ts"
import { isUp } from "./AgentStatus.ts"

/**
 * Stores a change of an agent's possessions: the row first, then the running instance. A job repeats the second step.
 */
export const makeReconfiguringChange = Effect.gen(function* () {
  const instances = yield* AgentInstances
  const outbox = yield* Outbox
  const transaction = yield* Transaction

  return <A, E>(agent: Agent, work: Effect.Effect<A, E>) =>
    Effect.gen(function* () {
      const stored = yield* transaction.run(
        Effect.zipLeft(work, outbox.append(ReconfigureInstanceJob, { userId: agent.ownerId }, agent.ownerId))
      )
      if (isUp(agent.status))
        yield* Effect.catchAll(instances.reconfigure(agent.ownerId), ({ reason }) =>
          Effect.logWarning("Reconfiguration of a changed agent is left to the job").pipe(
            Effect.annotateLogs({ agentId: agent.id, reason })
          )
        )
      return stored
    })
})
