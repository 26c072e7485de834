import { Effect } from "effect"
import { AgentManager } from "../instances/AgentManager.ts"
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

/** Changing an agent that runs: the row first, then its cell, whose conversations go on. */
export class AgentConfiguration extends Effect.Service<AgentConfiguration>()("@berth/AgentConfiguration", {
  effect: Effect.gen(function* () {
    const repository = yield* AgentRepository
    const manager = yield* AgentManager
    const models = yield* AgentModels

    const change = Effect.fn("AgentConfiguration.change")(function* (agent: Agent, asked: ConfigurationChange) {
      const choice = yield* chooseModel(models, {
        model: asked.model ?? agent.model,
        customModel: asked.customModel === undefined ? agent.customModel : asked.customModel
      })
      const changed = yield* repository.reconfigure(agent.id, {
        ...choice,
        config: { ...agent.config, ...asked.config }
      })
      const stored = yield* Effect.mapError(changed, () => new AgentIsUnknown())
      if (isUp(stored.status)) yield* manager.reconfigure(stored.ownerId)
      return stored
    })

    /** The agent goes with its conversations; its cell forgets it, and ends when it was the last one. */
    const remove = Effect.fn("AgentConfiguration.remove")(function* (agent: Agent) {
      yield* repository.remove(agent.id)
      yield* manager.reconfigure(agent.ownerId)
      yield* Effect.logInfo("An agent was removed").pipe(
        Effect.annotateLogs({ agentId: agent.id, userId: agent.ownerId })
      )
    })

    return { change, remove }
  })
}) {}
