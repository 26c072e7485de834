import { Data, Effect } from "effect"
import type { User } from "../shared/User.ts"
import { Allowances } from "../billing/subscriptions/Allowances.ts"
import { AgentManager } from "../instances/AgentManager.ts"
import { ReconfigureInstanceJob } from "../jobs/JobKind.ts"
import { Outbox } from "../jobs/Outbox.ts"
import { Transaction } from "../persistence/Transaction.ts"
import { SkillCatalog } from "../skills/Skill.ts"
import { selectUsableSkills } from "../skills/SkillAvailability.ts"
import { type Agent, type AgentConfig } from "./Agent.ts"
import { AgentNotFound } from "./AgentErrors.ts"
import { resolveAgentModel } from "./AgentModel.ts"
import { AllowedAgentModels } from "./AgentModels.ts"
import { AgentRepository } from "./AgentRepository.ts"
import { isUp } from "./AgentStatus.ts"
import { validatePlanFeatures, validateSkillSelection, deduplicateSelections } from "./AgentConfigPolicy.ts"

/** What the owner changes; what is absent stays. */
export interface AgentConfigurationChange {
  readonly model?: string | undefined
  readonly customModel?: string | null | undefined
  readonly config: Partial<AgentConfig>
}

/** There is no skill with this id. */
export class SkillNotFound extends Data.TaggedError("SkillNotFound")<object> {}

/**
 * Changing an agent that runs: the row first, then its cell, whose conversations go on. A cell that could not be told is told
 * by a job that comes with the row.
 */
export class AgentConfiguration extends Effect.Service<AgentConfiguration>()("@berth/AgentConfiguration", {
  effect: Effect.gen(function* () {
    const repository = yield* AgentRepository
    const manager = yield* AgentManager
    const models = yield* AllowedAgentModels
    const allowances = yield* Allowances
    const catalogue = yield* SkillCatalog
    const outbox = yield* Outbox
    const transaction = yield* Transaction

    /** The row, and with it a job that tells the cell, whatever becomes of the call that tells it at once. */
    const store = <A>(change: Effect.Effect<A>, agent: Agent) =>
      transaction.run(Effect.zipLeft(change, outbox.append(ReconfigureInstanceJob, { userId: agent.ownerId })))

    const change = Effect.fn("AgentConfiguration.change")(function* (
      owner: User,
      agent: Agent,
      asked: AgentConfigurationChange
    ) {
      const model =
        asked.model === undefined && asked.customModel === undefined
          ? undefined
          : yield* resolveAgentModel(models, {
              model: asked.model ?? agent.model,
              customModel: asked.customModel === undefined ? agent.customModel : asked.customModel
            })
      yield* validateSkillSelection(catalogue, agent.config, asked.config)
      if (asked.config.channels !== undefined || asked.config.skills !== undefined) {
        const { features } = yield* allowances.find(owner)
        yield* validatePlanFeatures(catalogue, features, agent.config, asked.config)
      }
      const changed = yield* store(
        repository.updateConfiguration(agent.id, { model, config: deduplicateSelections(asked.config) }),
        agent
      )
      const stored = yield* Effect.mapError(changed, () => new AgentNotFound())
      if (isUp(stored.status)) yield* manager.reconfigure(stored.ownerId)
      return stored
    })

    /** Switches one skill; whatever else is changed at the same time stays. */
    const setSkill = Effect.fn("AgentConfiguration.setSkill")(function* (
      owner: User,
      agent: Agent,
      skillId: string,
      enabled: boolean
    ) {
      if (!catalogue.some(({ id }) => id === skillId)) return yield* new SkillNotFound()
      if (enabled) {
        const { features } = yield* allowances.find(owner)
        // Also what the agent has already: a skill that the plan has lost would not come on.
        yield* validatePlanFeatures(catalogue, features, { channels: [], skills: [] }, { skills: [skillId] })
      }
      const changed = yield* store(repository.setSkill(agent.id, skillId, enabled), agent)
      const stored = yield* Effect.mapError(changed, () => new AgentNotFound())
      if (isUp(stored.status)) yield* manager.reconfigure(stored.ownerId)
    })

    /** The channels and skills that work now: chosen, and part of the plan. */
    const findEffective = Effect.fn("AgentConfiguration.findEffective")(function* (owner: User, { config }: Agent) {
      const { features } = yield* allowances.find(owner)
      return {
        channels: config.channels.filter((channel) => features.channels.includes(channel)),
        skills: selectUsableSkills(catalogue, features, config.skills)
      }
    })

    /** Every skill there is, and whether it works for this agent. */
    const listSkills = Effect.fn("AgentConfiguration.listSkills")(function* (owner: User, agent: Agent) {
      const used = (yield* findEffective(owner, agent)).skills
      return catalogue.map((skill) => ({ skill, enabled: used.includes(skill) }))
    })

    /** The agent goes with its conversations; its cell forgets it, and ends when it was the last one. */
    const remove = Effect.fn("AgentConfiguration.remove")(function* (agent: Agent) {
      yield* store(repository.remove(agent.id), agent)
      yield* manager.reconfigure(agent.ownerId)
      yield* Effect.logInfo("An agent was removed").pipe(
        Effect.annotateLogs({ agentId: agent.id, userId: agent.ownerId })
      )
    })

    return { change, setSkill, findEffective, listSkills, remove }
  })
}) {}
