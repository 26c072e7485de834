import { Effect } from "effect"
import { AgentManager } from "../instances/AgentManager.ts"
import { ReconfigureInstance } from "../jobs/Job.ts"
import { Outbox } from "../jobs/Outbox.ts"
import { Transaction } from "../persistence/Transaction.ts"
import { type Agent, type AgentConfig } from "./Agent.ts"
import { AgentIsUnknown } from "./AgentErrors.ts"
import { chooseModel } from "./AgentModel.ts"
import { AgentModels } from "./AgentModels.ts"
import { AgentRepository } from "./AgentRepository.ts"
import { isUp } from "./AgentStatus.ts"

/** What the owner changes; what is absent stays. */
export interface ConfigurationChange {
  readonly model?: string | undefined
  readonly customModel?: string | null | undefined
  readonly config: Partial<AgentConfig>
}

/**
 * Changing an agent that runs: the row first, then its cell, whose conversations go on. A cell that could not be told is told
 * by a job that comes with the row.
 */
export class AgentConfiguration extends Effect.Service<AgentConfiguration>()("@berth/AgentConfiguration", {
  effect: Effect.gen(function* () {
    const repository = yield* AgentRepository
    const manager = yield* AgentManager
    const models = yield* AgentModels
    const outbox = yield* Outbox
    const transaction = yield* Transaction

    const change = Effect.fn("AgentConfiguration.change")(function* (agent: Agent, asked: ConfigurationChange) {
      const model =
        asked.model === undefined && asked.customModel === undefined
          ? undefined
          : yield* chooseModel(models, {
              model: asked.model ?? agent.model,
              customModel: asked.customModel === undefined ? agent.customModel : asked.customModel
            })
      const changed = yield* transaction.run(
        Effect.zipLeft(
          repository.reconfigure(agent.id, { model, config: asked.config }),
          // Whatever becomes of the call below, and also for a cell that is just coming up with what was before.
          outbox.append(ReconfigureInstance, { userId: agent.ownerId })
        )
      )
      const stored = yield* Effect.mapError(changed, () => new AgentIsUnknown())
      if (isUp(stored.status)) yield* manager.reconfigure(stored.ownerId)
      return stored
    })

    /** The agent goes with its conversations; its cell forgets it, and ends when it was the last one. */
    const remove = Effect.fn("AgentConfiguration.remove")(function* (agent: Agent) {
      yield* transaction.run(
        Effect.zipRight(repository.remove(agent.id), outbox.append(ReconfigureInstance, { userId: agent.ownerId }))
      )
      yield* manager.reconfigure(agent.ownerId)
      yield* Effect.logInfo("An agent was removed").pipe(
        Effect.annotateLogs({ agentId: agent.id, userId: agent.ownerId })
      )
    })

    return { change, remove }
  })
}) {}
