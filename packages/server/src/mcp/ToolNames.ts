import { Hash } from "effect"
import type { AgentId } from "@berth/domain/shared/AgentId"

const chat = "chat"

/** Unique among the agents of an owner. */
const suffixOf = (id: AgentId) => id.slice(-12)

/** Clients accept names of up to 64 characters. */
const maximumLength = 51

/** Replaces the end of a longer name with a hash. */
const shorten = (name: string) => {
  if (name.length <= maximumLength) return name
  const hash = (Hash.string(name) >>> 0).toString(36)
  return `${name.slice(0, maximumLength - 1 - hash.length)}_${hash}`
}

export const nameChatTool = (id: AgentId): string => `${chat}_${suffixOf(id)}`

/** Returns the name of an agent's tool, distinct from the agent's other tools. */
export const nameSkillTool = (tool: string, id: AgentId): string =>
  `${shorten(tool === chat || tool.startsWith("skill_") ? `skill_${tool}` : tool)}_${suffixOf(id)}`
