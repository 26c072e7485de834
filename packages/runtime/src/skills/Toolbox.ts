import type { RuntimeAgent } from "@berth/domain/instances/AgentRuntime"
import { Context } from "effect"
import { readSkill } from "./ReadSkill.ts"
import { disclosure } from "./SkillPrompt.ts"
import type { Tool } from "./Tool.ts"

/** Every tool that this runtime has. */
export class Toolbox extends Context.Tag("@berth/runtime/Toolbox")<Toolbox, ReadonlyArray<Tool>>() {}

/** The tools that an agent may use: those of its skills that are here, in the order of the toolbox. */
export const toolsOf = (agent: RuntimeAgent, toolbox: ReadonlyArray<Tool>): ReadonlyArray<Tool> => {
  const wanted = new Set(agent.skills.flatMap(({ tools }) => tools))
  return [
    ...(disclosure(agent.skills) === "on demand" ? [readSkill] : []),
    ...toolbox.filter(({ spec }) => wanted.has(spec.name))
  ]
}
