import { Data, Either, Schema } from "effect"

export const AgentStatus = Schema.Literal("provisioning", "running", "active", "stopped", "error").annotations({
  identifier: "AgentStatus"
})
export type AgentStatus = typeof AgentStatus.Type

/** What can happen to an agent. */
export type AgentLifecycleEvent =
  "deployed" | "deployment-failed" | "started" | "stopped" | "restarted" | "updated" | "repaired" | "cell-lost"

export class StatusTransitionRejected extends Data.TaggedError("StatusTransitionRejected")<{
  readonly from: AgentStatus
  readonly event: AgentLifecycleEvent
}> {}

// The table of the specification, and: a lost cell is an error, and start, restart, repair or update revive it.
const moves: Record<AgentLifecycleEvent, Partial<Record<AgentStatus, AgentStatus>>> = {
  deployed: { provisioning: "running" },
  "deployment-failed": { provisioning: "error" },
  started: { provisioning: "active", running: "active", active: "active", stopped: "active", error: "active" },
  stopped: { provisioning: "stopped", running: "stopped", active: "stopped", stopped: "stopped", error: "stopped" },
  restarted: { provisioning: "active", running: "active", active: "active", stopped: "active", error: "active" },
  updated: { provisioning: "running", running: "running", active: "running", stopped: "running", error: "running" },
  repaired: { running: "running", active: "active", stopped: "active", error: "active" },
  "cell-lost": { running: "error", active: "error" }
}

/** The one state machine of an agent: where `event` leads from `from`, or that it may not happen there. */
export const transitionAgentStatus = (
  from: AgentStatus,
  event: AgentLifecycleEvent
): Either.Either<AgentStatus, StatusTransitionRejected> => {
  const to = moves[event][from]
  return to === undefined ? Either.left(new StatusTransitionRejected({ from, event })) : Either.right(to)
}

/** Statuses in which the agent's cell should be up and it answers. */
export const isUp = (status: AgentStatus): boolean => status === "running" || status === "active"
