import type { RuntimeAgent } from "@berth/domain/instances/AgentRuntime"
import type { Tool } from "@berth/domain/skills/tools/Tool"
import { Context } from "effect"
import { chooseDisclosure, readSkillTool } from "./SkillPrompt.ts"

/** Agent of a turn; the backend derives the conversation from `messageId`. */
export interface TurnAgent extends RuntimeAgent {
  readonly messageId: string
}

export type AgentTool = Tool<TurnAgent>

export class Toolbox extends Context.Tag("@berth/runtime/Toolbox")<Toolbox, ReadonlyArray<AgentTool>>() {}

/** Tools for data that the owner shares with the agent. The backend limits `recall`. */
const ownerTools: ReadonlySet<string> = new Set([
  "remember",
  "list_files",
  "read_file",
  "write_file",
  "delete_file",
  "get_balance",
  "send_usdc",
  "x402_payments"
])

/**
 * Returns the agent for users of a messaging channel: without the owner's tools, MCP servers, and skills that use only
 * the owner's tools.
 */
export const withoutOwnerTools = (agent: RuntimeAgent): RuntimeAgent => ({
  ...agent,
  hasMcpServers: false,
  skills: agent.skills.flatMap((skill) => {
    const tools = skill.tools.filter((name) => !ownerTools.has(name))
    return tools.length === 0 && skill.tools.length > 0 ? [] : [{ ...skill, tools }]
  })
})

/** Selects the runtime's tools named by the agent's shipped skills, in the order of the toolbox. */
export const selectTools = (agent: RuntimeAgent, toolbox: ReadonlyArray<AgentTool>): ReadonlyArray<AgentTool> => {
  const wanted = new Set(agent.skills.flatMap(({ code, tools }) => (code === undefined ? tools : [])))
  return [
    ...(chooseDisclosure(agent.skills) === "onDemand" ? [readSkillTool] : []),
    ...toolbox.filter(({ spec }) => wanted.has(spec.name))
  ]
}
