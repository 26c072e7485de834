import { Effect, Ref } from "effect"
import type { User } from "../shared/User.ts"
import { Users } from "../accounts/Users.ts"
import type { Agent } from "../agents/Agent.ts"
import { ContextWindows } from "../ai/ContextWindows.ts"
import { Allowances } from "../billing/subscriptions/Allowances.ts"
import type { PlanFeatures } from "../billing/subscriptions/PlanFeatures.ts"
import { McpServers } from "../skills/mcp/McpServers.ts"
import { SkillCatalog } from "../skills/Skill.ts"
import { selectUsableSkills } from "../skills/SkillAvailability.ts"
import { UploadedSkills } from "../skills/uploads/UploadedSkills.ts"
import { AgentRuntime, type RuntimeAccess, type RuntimeAgent } from "./AgentRuntime.ts"
import type { RunningInstance, InstanceSpec } from "./InstanceDriver.ts"
import { InstanceUnavailable } from "./InstanceErrors.ts"
import { InstanceRepository } from "./InstanceRepository.ts"
import { InstanceSettings } from "./InstanceSettings.ts"
import type { UserId } from "../shared/UserId.ts"

/** The specification and the configuration of an owner's instance. */
export class InstanceContents extends Effect.Service<InstanceContents>()("@berth/InstanceContents", {
  dependencies: [UploadedSkills.Default, McpServers.Default],
  effect: Effect.gen(function* () {
    const instances = yield* InstanceRepository
    const users = yield* Users
    const allowances = yield* Allowances
    const runtime = yield* AgentRuntime
    const { backendUrl } = yield* InstanceSettings
    const skills = yield* SkillCatalog
    const uploads = yield* UploadedSkills
    const mcpServers = yield* McpServers
    const windows = yield* ContextWindows
    /** Start time of each instance configured by this backend; an adopted instance may not be configured. */
    const configured = yield* Ref.make<ReadonlyMap<UserId, number>>(new Map())

    const makeSpec = Effect.fn("InstanceContents.makeSpec")(function* (owner: User) {
      const { cpus, memoryMb, storageMb } = yield* allowances.find(owner)
      const token = yield* instances.ensureRuntimeToken(owner.id)
      return { owner: owner.id, memoryMb, cpus, diskMb: storageMb, token, backendUrl } satisfies InstanceSpec
    })

    const toRuntimeAgent =
      (features: PlanFeatures, withMcpServers: ReadonlySet<Agent["id"]>) =>
      (agent: Agent): Effect.Effect<RuntimeAgent> => {
        const model = agent.customModel ?? agent.model
        const chosen = agent.config.skills
        const hasUploaded = chosen.some((id) => !skills.some((skill) => skill.id === id))
        const uploaded = hasUploaded ? uploads.read(agent.id) : Effect.succeed([])
        return Effect.zipWith(windows.find(model, agent.ownerId), uploaded, (contextWindow, own) => ({
          id: agent.id,
          name: agent.name,
          model,
          contextWindow,
          systemPrompt: agent.config.systemPrompt,
          temperature: agent.config.temperature,
          maxTokens: agent.config.maxTokens,
          timezone: agent.config.timezone,
          skills: selectUsableSkills([...skills, ...own], features, chosen),
          ...(withMcpServers.has(agent.id) ? { hasMcpServers: true } : {})
        }))
      }

    /** Converts agents to the runtime's format. */
    const describe = Effect.fn("InstanceContents.describe")(function* (owner: User, members: ReadonlyArray<Agent>) {
      const { features } = yield* allowances.find(owner)
      return yield* Effect.forEach(members, toRuntimeAgent(features, yield* mcpServers.listAgents(owner.id)))
    })

    const send = Effect.fn("InstanceContents.send")(
      function* (access: RuntimeAccess, described: ReadonlyArray<RuntimeAgent>) {
        yield* runtime.configure(access, described)
        yield* Ref.update(configured, (all) =>
          new Map(all).set(access.instance.owner, access.instance.startedAt.epochMillis)
        )
      },
      Effect.mapError(({ reason }) => new InstanceUnavailable({ reason }))
    )

    /** Configures the instance with exactly these agents. */
    const configure = Effect.fn("InstanceContents.configure")(function* (
      access: RuntimeAccess,
      members: ReadonlyArray<Agent>
    ) {
      const owner = yield* Effect.mapError(
        users.find(access.instance.owner),
        () => new InstanceUnavailable({ reason: "its owner was deleted" })
      )
      yield* send(access, yield* describe(owner, members))
    })

    const isConfigured = ({ owner, startedAt }: RunningInstance) =>
      Effect.map(Ref.get(configured), (all) => all.get(owner) === startedAt.epochMillis)

    return { makeSpec, describe, send, configure, isConfigured }
  })
}) {}
