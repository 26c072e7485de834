import type { RuntimeSkill } from "@berth/domain/instances/AgentRuntime"

/** Characters of instructions, all skills together, up to which they are simply told. */
export const maximumInlineInstructions = 4_000

/**
 * Progressive disclosure: a model always knows each skill's name and description. Their instructions are told with them
 * while they are short; else the model asks for those it needs.
 */
export const chooseDisclosure = (skills: ReadonlyArray<RuntimeSkill>): "at once" | "on demand" =>
  skills.reduce((sum, { instructions }) => sum + instructions.length, 0) <= maximumInlineInstructions
    ? "at once"
    : "on demand"

/** What a system message says of an agent's skills; null without any. */
export const makeSkillPrompt = (skills: ReadonlyArray<RuntimeSkill>): string | null => {
  if (skills.length === 0) return null
  const list = skills.map(({ description, id }) => `- ${id}: ${description}`).join("\n")
  return chooseDisclosure(skills) === "at once"
    ? [
        `You have these skills:\n${list}`,
        ...skills.flatMap(({ id, instructions }) =>
          instructions.trim() === "" ? [] : [`<skill name="${id}">\n${instructions.trim()}\n</skill>`]
        )
      ].join("\n\n")
    : `You have these skills:\n${list}\n\nBefore you use a skill for the first time in a turn, read its instructions with read_skill.`
}
