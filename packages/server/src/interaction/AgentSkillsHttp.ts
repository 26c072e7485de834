import { makeMissingFieldsError } from "@berth/api/http/RequestErrors"
import type { AgentId } from "@berth/domain/shared/AgentId"
import { AgentConfiguration } from "@berth/domain/agents/AgentConfiguration"
import { AgentHealth } from "@berth/domain/interaction/health/AgentHealth"
import type { User } from "@berth/domain/shared/User"
import { Effect } from "effect"

/** Whether an action of /api/agent changes the agent, which API keys with the scope `chat` only may not do. */
export const isConfiguration = (action: string): boolean => action === "update-skill" || action === "set-credential"

/** The skill actions of /api/agent. */
export const makeAgentSkillActions = Effect.gen(function* () {
  const health = yield* AgentHealth
  const configuration = yield* AgentConfiguration

  const list = Effect.fnUntraced(function* (owner: User, agentId: AgentId | undefined) {
    const agent = yield* health.resolveAgent(owner.id, agentId)
    const skills = yield* configuration.listSkills(owner, agent)
    return {
      skills: skills.map(({ enabled, skill: { description, id, name } }) => ({ id, name, description, enabled }))
    }
  })

  const update = Effect.fnUntraced(function* (
    owner: User,
    agentId: AgentId | undefined,
    { enabled, skillId }: { readonly skillId: string | undefined; readonly enabled: boolean | undefined }
  ) {
    const named = agentId === undefined ? undefined : yield* health.resolveAgent(owner.id, agentId)
    if (skillId === undefined || enabled === undefined)
      return yield* makeMissingFieldsError([
        ...(skillId === undefined ? ["skillId"] : []),
        ...(enabled === undefined ? ["enabled"] : [])
      ])
    const agent = named ?? (yield* health.resolveAgent(owner.id, agentId))
    yield* configuration.setSkill(owner, agent, skillId, enabled)
    return { success: true, skillId, enabled }
  })

  return { list, update }
})
