import type { RuntimeAgent } from "@berth/domain/instances/AgentRuntime"
import type { Tool } from "@berth/domain/skills/tools/Tool"
import { Context } from "effect"
import { chooseDisclosure, readSkillTool } from "./SkillPrompt.ts"

export type AgentTool = Tool<RuntimeAgent>

/** Every tool that this runtime has. */
export class Toolbox extends Context.Tag("@berth/runtime/Toolbox")<Toolbox, ReadonlyArray<AgentTool>>() {}

/** The tools that an agent may use: those that its skills name, in the order of the toolbox. */
export const selectTools = (agent: RuntimeAgent, toolbox: ReadonlyArray<AgentTool>): ReadonlyArray<AgentTool> => {
  const wanted = new Set(agent.skills.flatMap(({ tools }) => tools))
  return [
    ...(chooseDisclosure(agent.skills) === "onDemand" ? [readSkillTool] : []),
    ...toolbox.filter(({ spec }) => wanted.has(spec.name))
  ]
}
