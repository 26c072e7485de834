import type { Agent } from "../agents/Agent.ts"
import type { AgentId } from "../shared/AgentId.ts"

const oldestFirst = (a: Agent, b: Agent) => a.createdAt.epochMillis - b.createdAt.epochMillis || (a.id < b.id ? -1 : 1)

/**
 * Which agents a start of the instance brings up: sound ones and then failed ones, oldest first, while the plan's limit
 * has room. The rest stay as they are.
 */
export const selectAgentsToStart = (
  agents: ReadonlyArray<Agent>,
  limit: number
): { readonly start: ReadonlyArray<Agent>; readonly leave: ReadonlyArray<AgentId> } => {
  const sound = agents.filter(({ status }) => status !== "error").toSorted(oldestFirst)
  const failed = agents.filter(({ status }) => status === "error").toSorted(oldestFirst)
  const candidates = [...sound, ...failed]
  return { start: candidates.slice(0, limit), leave: candidates.slice(limit).map(({ id }) => id) }
}
