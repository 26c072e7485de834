import type { RuntimeAgent } from "@berth/domain/instances/AgentRuntime"
import type { Tool } from "@berth/domain/skills/tools/Tool"
import { Context } from "effect"
import { readSkillTool } from "./ReadSkillTool.ts"
import { chooseDisclosure } from "./SkillPrompt.ts"

/** Something an agent of this cell can do. */
export type AgentTool = Tool<RuntimeAgent>

/** Every tool that this runtime has. */
export class Toolbox extends Context.Tag("@berth/runtime/Toolbox")<Toolbox, ReadonlyArray<AgentTool>>() {}

/** The tools that an agent may use: those of its skills that are here, in the order of the toolbox. */
export const selectTools = (agent: RuntimeAgent, toolbox: ReadonlyArray<AgentTool>): ReadonlyArray<AgentTool> => {
  const wanted = new Set(agent.skills.flatMap(({ tools }) => tools))
  return [
    ...(chooseDisclosure(agent.skills) === "on demand" ? [readSkillTool] : []),
    ...toolbox.filter(({ spec }) => wanted.has(spec.name))
  ]
}
