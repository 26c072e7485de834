import { Data, Effect } from "effect"
import type { User } from "../shared/User.ts"
import { Allowances } from "../billing/subscriptions/Allowances.ts"
import { Outbox } from "../jobs/Outbox.ts"
import { Transaction } from "../persistence/Transaction.ts"
import { SkillCatalog } from "../skills/Skill.ts"
import { selectUsableSkills } from "../skills/SkillAvailability.ts"
import { UploadedSkills } from "../skills/uploads/UploadedSkills.ts"
import { type Agent, type AgentConfig } from "./Agent.ts"
import { AgentNotFound } from "./AgentErrors.ts"
import { AgentInstances } from "./AgentInstances.ts"
import { resolveAgentModel } from "./AgentModel.ts"
import { AgentRepository } from "./AgentRepository.ts"
import { AgentSettings } from "./AgentSettings.ts"
import { isUp } from "./AgentStatus.ts"
import { validatePlanFeatures, validateSkillSelection, deduplicateSelections } from "./AgentConfigPolicy.ts"
import { ReconfigureInstanceJob } from "./AgentJobs.ts"

/** The owner's changes; absent members remain unchanged. */
export interface AgentConfigurationChange {
  readonly model?: string | undefined
  readonly customModel?: string | null | undefined
  readonly config: Partial<AgentConfig>
}

export class SkillNotFound extends Data.TaggedError("SkillNotFound")<object> {}

/**
 * Changes agents: the row first, then the running instance. A job in the transaction of the row repeats the second
 * step.
 */
export class AgentConfiguration extends Effect.Service<AgentConfiguration>()("@berth/AgentConfiguration", {
  dependencies: [UploadedSkills.Default],
  effect: Effect.gen(function* () {
    const repository = yield* AgentRepository
    const instances = yield* AgentInstances
    const { models } = yield* AgentSettings
    const allowances = yield* Allowances
    const catalog = yield* SkillCatalog
    const outbox = yield* Outbox
    const transaction = yield* Transaction
    const uploads = yield* UploadedSkills

    const skillsOf = ({ id }: Agent) => Effect.map(uploads.list(id), (uploaded) => [...catalog, ...uploaded])

    const store = <A>(change: Effect.Effect<A>, agent: Agent) =>
      transaction.run(
        Effect.zipLeft(change, outbox.append(ReconfigureInstanceJob, { userId: agent.ownerId }, agent.ownerId))
      )

    const change = Effect.fn("AgentConfiguration.change")(function* (
      owner: User,
      agent: Agent,
      requested: AgentConfigurationChange
    ) {
      const model =
        requested.model === undefined && requested.customModel === undefined
          ? undefined
          : yield* resolveAgentModel(models, {
              model: requested.model ?? agent.model,
              customModel: requested.customModel === undefined ? agent.customModel : requested.customModel
            })
      const skills = yield* skillsOf(agent)
      yield* validateSkillSelection(skills, agent.config, requested.config)
      if (requested.config.channels !== undefined || requested.config.skills !== undefined) {
        const { features } = yield* allowances.find(owner)
        yield* validatePlanFeatures(skills, features, agent.config, requested.config)
      }
      const changed = yield* store(
        repository.updateConfiguration(agent.id, { model, config: deduplicateSelections(requested.config) }),
        agent
      )
      const stored = yield* Effect.mapError(changed, () => new AgentNotFound())
      if (isUp(stored.status)) yield* instances.reconfigure(stored.ownerId)
      return stored
    })

    /** Enables or disables one skill. Concurrent changes of other members are kept. */
    const setSkill = Effect.fn("AgentConfiguration.setSkill")(function* (
      owner: User,
      agent: Agent,
      skillId: string,
      enabled: boolean
    ) {
      const skills = yield* skillsOf(agent)
      if (!skills.some(({ id }) => id === skillId)) return yield* new SkillNotFound()
      if (enabled) {
        const { features } = yield* allowances.find(owner)
        // Applies to enabled skills too, since a skill outside of the plan does not work.
        yield* validatePlanFeatures(skills, features, { channels: [], skills: [] }, { skills: [skillId] })
      }
      const changed = yield* store(repository.setSkill(agent.id, skillId, enabled), agent)
      const stored = yield* Effect.mapError(changed, () => new AgentNotFound())
      if (isUp(stored.status)) yield* instances.reconfigure(stored.ownerId)
    })

    /** Returns the selected channels and skills that the plan includes. */
    const findEffective = Effect.fn("AgentConfiguration.findEffective")(function* (owner: User, agent: Agent) {
      const { features } = yield* allowances.find(owner)
      const { channels, skills } = agent.config
      return {
        channels: channels.filter((channel) => features.channels.includes(channel)),
        skills: selectUsableSkills(yield* skillsOf(agent), features, skills)
      }
    })

    /** Lists all catalog and uploaded skills, with whether each works for this agent. */
    const listSkills = Effect.fn("AgentConfiguration.listSkills")(function* (owner: User, agent: Agent) {
      const { features } = yield* allowances.find(owner)
      const skills = yield* skillsOf(agent)
      const used = selectUsableSkills(skills, features, agent.config.skills)
      return skills.map((skill) => ({ skill, enabled: used.includes(skill) }))
    })

    /** Deletes the agent with its conversations and files. A job repeats the steps in the instance. */
    const remove = Effect.fn("AgentConfiguration.remove")(
      function* (agent: Agent) {
        yield* store(repository.remove(agent.id), agent)
        yield* Effect.catchAll(instances.reconfigure(agent.ownerId), ({ reason }) =>
          Effect.logWarning("Reconfiguration after an agent's removal is left to the job").pipe(
            Effect.annotateLogs({ reason })
          )
        )
        yield* Effect.logInfo("Agent removed")
      },
      (effect, agent) => Effect.annotateLogs(effect, { agentId: agent.id, userId: agent.ownerId })
    )

    return { change, setSkill, findEffective, listSkills, remove }
  })
}) {}
