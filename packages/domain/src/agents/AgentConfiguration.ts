import { Data, Effect } from "effect"
import type { User } from "../accounts/User.ts"
import { Allowances } from "../billing/Allowances.ts"
import { AgentManager } from "../instances/AgentManager.ts"
import { ReconfigureInstance } from "../jobs/Job.ts"
import { Outbox } from "../jobs/Outbox.ts"
import { Transaction } from "../persistence/Transaction.ts"
import { SkillCatalogue } from "../skills/SkillCatalogue.ts"
import { usableSkills } from "../skills/UsableSkills.ts"
import { type Agent, type AgentConfig } from "./Agent.ts"
import { AgentIsUnknown } from "./AgentErrors.ts"
import { chooseModel } from "./AgentModel.ts"
import { AgentModels } from "./AgentModels.ts"
import { AgentRepository } from "./AgentRepository.ts"
import { isUp } from "./AgentStatus.ts"
import { refuseBeyondPlan, refuseUnknownSkills, withoutRepeats } from "./ConfigurationRules.ts"

/** What the owner changes; what is absent stays. */
export interface ConfigurationChange {
  readonly model?: string | undefined
  readonly customModel?: string | null | undefined
  readonly config: Partial<AgentConfig>
}

/** There is no skill with this id. */
export class SkillIsUnknown extends Data.TaggedError("SkillIsUnknown")<object> {}

/**
 * Changing an agent that runs: the row first, then its cell, whose conversations go on. A cell that could not be told is told
 * by a job that comes with the row.
 */
export class AgentConfiguration extends Effect.Service<AgentConfiguration>()("@berth/AgentConfiguration", {
  effect: Effect.gen(function* () {
    const repository = yield* AgentRepository
    const manager = yield* AgentManager
    const models = yield* AgentModels
    const allowances = yield* Allowances
    const catalogue = yield* SkillCatalogue
    const outbox = yield* Outbox
    const transaction = yield* Transaction

    /** The row, and with it a job that tells the cell, whatever becomes of the call that tells it at once. */
    const store = <A>(change: Effect.Effect<A>, agent: Agent) =>
      transaction.run(Effect.zipLeft(change, outbox.append(ReconfigureInstance, { userId: agent.ownerId })))

    const change = Effect.fn("AgentConfiguration.change")(function* (
      owner: User,
      agent: Agent,
      asked: ConfigurationChange
    ) {
      const model =
        asked.model === undefined && asked.customModel === undefined
          ? undefined
          : yield* chooseModel(models, {
              model: asked.model ?? agent.model,
              customModel: asked.customModel === undefined ? agent.customModel : asked.customModel
            })
      yield* refuseUnknownSkills(catalogue, agent.config, asked.config)
      if (asked.config.channels !== undefined || asked.config.skills !== undefined) {
        const { features } = yield* allowances.of(owner)
        yield* refuseBeyondPlan(catalogue, features, agent.config, asked.config)
      }
      const changed = yield* store(
        repository.reconfigure(agent.id, { model, config: withoutRepeats(asked.config) }),
        agent
      )
      const stored = yield* Effect.mapError(changed, () => new AgentIsUnknown())
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
      if (!catalogue.some(({ id }) => id === skillId)) return yield* new SkillIsUnknown()
      if (enabled) {
        const { features } = yield* allowances.of(owner)
        // Also what the agent has already: a skill that the plan has lost would not come on.
        yield* refuseBeyondPlan(catalogue, features, { channels: [], skills: [] }, { skills: [skillId] })
      }
      const changed = yield* store(repository.setSkill(agent.id, skillId, enabled), agent)
      const stored = yield* Effect.mapError(changed, () => new AgentIsUnknown())
      if (isUp(stored.status)) yield* manager.reconfigure(stored.ownerId)
    })

    /** The channels and skills that work now: chosen, and part of the plan. */
    const inForce = Effect.fn("AgentConfiguration.inForce")(function* (owner: User, { config }: Agent) {
      const { features } = yield* allowances.of(owner)
      return {
        channels: config.channels.filter((channel) => features.channels.includes(channel)),
        skills: usableSkills(catalogue, features, config.skills)
      }
    })

    /** Every skill there is, and whether it works for this agent. */
    const skills = Effect.fn("AgentConfiguration.skills")(function* (owner: User, agent: Agent) {
      const used = (yield* inForce(owner, agent)).skills
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

    return { change, setSkill, inForce, skills, remove }
  })
}) {}
