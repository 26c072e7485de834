import type { Agent } from "../agents/Agent.ts"
import { oldestFirst } from "../agents/AgentLimits.ts"
import type { AgentId } from "../shared/AgentId.ts"

/** Selects the agents to start within the plan's limit: working before failed ones, oldest first. */
export const selectAgentsToStart = (
  agents: ReadonlyArray<Agent>,
  limit: number
): { readonly start: ReadonlyArray<Agent>; readonly leave: ReadonlyArray<AgentId> } => {
  const working = agents.filter(({ status }) => status !== "error").toSorted(oldestFirst)
  const failed = agents.filter(({ status }) => status === "error").toSorted(oldestFirst)
  const candidates = [...working, ...failed]
  return { start: candidates.slice(0, limit), leave: candidates.slice(limit).map(({ id }) => id) }
}
