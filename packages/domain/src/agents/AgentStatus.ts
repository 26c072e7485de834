import { Data, Either, Schema } from "effect"

export const AgentStatus = Schema.Literal("provisioning", "running", "active", "stopped", "error").annotations({
  identifier: "AgentStatus"
})
export type AgentStatus = typeof AgentStatus.Type

export type AgentLifecycleEvent =
  "deployed" | "deployment-failed" | "started" | "stopped" | "restarted" | "updated" | "repaired" | "instance-lost"

class StatusTransitionRejected extends Data.TaggedError("StatusTransitionRejected")<{
  readonly from: AgentStatus
  readonly event: AgentLifecycleEvent
}> {}

// The specification's table. Addition: a lost instance is an error, which start, restart, repair and update recover.
const moves: Record<AgentLifecycleEvent, Partial<Record<AgentStatus, AgentStatus>>> = {
  deployed: { provisioning: "running" },
  "deployment-failed": { provisioning: "error" },
  started: { provisioning: "active", running: "active", active: "active", stopped: "active", error: "active" },
  stopped: { provisioning: "stopped", running: "stopped", active: "stopped", stopped: "stopped", error: "stopped" },
  restarted: { provisioning: "active", running: "active", active: "active", stopped: "active", error: "active" },
  updated: { provisioning: "running", running: "running", active: "running", stopped: "running", error: "running" },
  repaired: { running: "running", active: "active", stopped: "active", error: "active" },
  "instance-lost": { running: "error", active: "error" }
}

/** State machine of an agent: returns the next status, or rejects the event. */
export const transitionAgentStatus = (
  from: AgentStatus,
  event: AgentLifecycleEvent
): Either.Either<AgentStatus, StatusTransitionRejected> => {
  const to = moves[event][from]
  return to === undefined ? Either.left(new StatusTransitionRejected({ from, event })) : Either.right(to)
}

/** Whether the agent can answer; its instance should be running. */
export const isUp = (status: AgentStatus): boolean => status === "running" || status === "active"
