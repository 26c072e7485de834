import type { RuntimeAgent, RuntimeSkill } from "@berth/domain/instances/AgentRuntime"
import * as Tool from "@berth/domain/skills/tools/Tool"
import { Effect, Schema } from "effect"

/** Maximum characters of all skills' instructions in the system message. */
const maximumInlineInstructions = 4_000

/**
 * Progressive disclosure: a model always has the name and description of each skill, and reads longer instructions by a
 * tool.
 */
export const chooseDisclosure = (skills: ReadonlyArray<RuntimeSkill>): "inline" | "onDemand" =>
  skills.reduce((sum, { instructions }) => sum + instructions.length, 0) <= maximumInlineInstructions
    ? "inline"
    : "onDemand"

/** Returns the system message's section on the agent's skills; null without skills. */
export const makeSkillPrompt = (skills: ReadonlyArray<RuntimeSkill>): string | null => {
  if (skills.length === 0) return null
  const list = skills.map(({ description, id }) => `- ${id}: ${description}`).join("\n")
  return chooseDisclosure(skills) === "inline"
    ? [
        `You have these skills:\n${list}`,
        ...skills.flatMap(({ id, instructions }) =>
          instructions.trim() === "" ? [] : [`<skill name="${id}">\n${instructions.trim()}\n</skill>`]
        )
      ].join("\n\n")
    : `You have these skills:\n${list}\n\nBefore you use a skill for the first time in a turn, read its instructions with read_skill.`
}

/** Returns the instructions of one of the agent's skills. */
export const readSkillTool = Tool.make({
  name: "read_skill",
  description: "Reads the instructions of one of your skills.",
  parameters: Schema.Struct({
    skill: Schema.String.annotations({ description: "The skill's name, as in the list of your skills." })
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
