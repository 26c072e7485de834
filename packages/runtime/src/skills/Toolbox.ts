import type { RuntimeAgent } from "@berth/domain/instances/AgentRuntime"
import type { Tool } from "@berth/domain/skills/Tool"
import { Context } from "effect"
import { readSkill } from "./ReadSkill.ts"
import { disclosure } from "./SkillPrompt.ts"

/** Something an agent of this cell can do. */
export type AgentTool = Tool<RuntimeAgent>

/** Every tool that this runtime has. */
export class Toolbox extends Context.Tag("@berth/runtime/Toolbox")<Toolbox, ReadonlyArray<AgentTool>>() {}

/** The tools that an agent may use: those of its skills that are here, in the order of the toolbox. */
export const toolsOf = (agent: RuntimeAgent, toolbox: ReadonlyArray<AgentTool>): ReadonlyArray<AgentTool> => {
  const wanted = new Set(agent.skills.flatMap(({ tools }) => tools))
  return [
    ...(disclosure(agent.skills) === "on demand" ? [readSkill] : []),
    ...toolbox.filter(({ spec }) => wanted.has(spec.name))
  ]
}
