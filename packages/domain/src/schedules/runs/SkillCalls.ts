import { Effect } from "effect"
import type { Agent } from "../../agents/Agent.ts"
import { AgentConfiguration, SkillNotFound } from "../../agents/AgentConfiguration.ts"
import type { User } from "../../shared/User.ts"
import { decodeArguments } from "../../skills/tools/Tool.ts"
import { toArgumentsSchema } from "../../skills/tools/ToolArguments.ts"
import { describeToolParameters, validateToolArguments } from "../../skills/tools/ToolParameters.ts"
import { SkillDisabled, SkillInputInvalid } from "../SchedulesErrors.ts"
import type { SkillInput } from "./AgentRun.ts"

export interface CallableTool {
  readonly skillId: string
  readonly tool: string
  readonly description: string
  /** JSON Schema. */
  readonly parameters: object
}

/** Checks calls of skills by their owner. */
export class SkillCalls extends Effect.Service<SkillCalls>()("@berth/SkillCalls", {
  effect: Effect.gen(function* () {
    const configuration = yield* AgentConfiguration

    /**
     * Validates that the skill works for the agent, the tool belongs to the skill, and the arguments match the tool.
     */
    const validate = Effect.fn("SkillCalls.validate")(function* (
      owner: User,
      agent: Agent,
      skillId: string,
      input: SkillInput
    ) {
      const skills = yield* configuration.listSkills(owner, agent)
      const match = skills.find(({ skill }) => skill.id === skillId)
      if (match === undefined) return yield* new SkillNotFound()
      if (!match.enabled) return yield* new SkillDisabled({ skillId })
      const { tools } = match.skill
      const tool = input.tool ?? (tools.length === 1 ? tools[0] : undefined)
      if (tool === undefined || !tools.includes(tool))
        return yield* new SkillInputInvalid({ reason: `input.tool must be one of: ${tools.join(", ")}.` })
      const uploaded = match.skill.code?.tools.find(({ name }) => name === tool)
      const args = input.arguments ?? {}
      yield* Effect.mapError(
        uploaded === undefined
          ? validateToolArguments(tool, args)
          : decodeArguments(toArgumentsSchema(uploaded.parameters))(args),
        ({ reason }) => new SkillInputInvalid({ reason: `input.arguments: ${reason}` })
      )
      return { tool, arguments: args }
    })

    /** Lists the directly callable tools of the agent's usable skills. */
    const list = Effect.fn("SkillCalls.list")(function* (owner: User, agent: Agent) {
      const skills = yield* configuration.listSkills(owner, agent)
      return skills.flatMap(({ enabled, skill }) =>
        enabled
          ? skill.tools.flatMap((tool): ReadonlyArray<CallableTool> => {
              const uploaded = skill.code?.tools.find(({ name }) => name === tool)
              const parameters = uploaded?.parameters ?? describeToolParameters(tool)
              const description = uploaded?.description ?? skill.description
              return parameters === undefined ? [] : [{ skillId: skill.id, tool, description, parameters }]
            })
          : []
      )
    })

    return { validate, list }
  })
}) {}
