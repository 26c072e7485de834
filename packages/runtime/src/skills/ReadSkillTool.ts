import type { RuntimeAgent } from "@berth/domain/instances/AgentRuntime"
import * as Tool from "@berth/domain/skills/tools/Tool"
import { Effect, Schema } from "effect"

/** The instructions of one of the agent's skills. */
export const readSkillTool = Tool.make({
  name: "read_skill",
  description: "Reads the instructions of one of your skills.",
  parameters: Schema.Struct({
    skill: Schema.String.annotations({ description: "The skill's name, as it stands in the list of your skills." })
  }),
  run: ({ skill }, { skills }: Pick<RuntimeAgent, "skills">) => {
    const found = skills.find(({ id }) => id === skill)
    return found === undefined
      ? new Tool.ToolFailed({
          reason: `There is no skill of that name. Your skills are: ${skills.map(({ id }) => id).join(", ")}.`
        })
      : Effect.succeed(found.instructions)
  }
})
