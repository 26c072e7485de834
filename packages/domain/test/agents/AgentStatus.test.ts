import { type AgentLifecycleEvent, AgentStatus, isUp, transitionAgentStatus } from "@berth/domain/agents/AgentStatus"
import { assert, describe, it } from "@effect/vitest"
import { Either, FastCheck, Schema } from "effect"

// The table of the specification, completed with the transitions out of and into error; "-" is a rejected one.
const statuses = ["provisioning", "running", "active", "stopped", "error"] as const
const table: Record<AgentLifecycleEvent, ReadonlyArray<AgentStatus | "-">> = {
  deployed: ["running", "-", "-", "-", "-"],
  "deployment-failed": ["error", "-", "-", "-", "-"],
  started: ["active", "active", "active", "active", "active"],
  stopped: ["stopped", "stopped", "stopped", "stopped", "stopped"],
  restarted: ["active", "active", "active", "active", "active"],
  updated: ["running", "running", "running", "running", "running"],
  repaired: ["-", "running", "active", "active", "active"],
  "instance-lost": ["-", "error", "error", "-", "-"]
}

describe("transitionAgentStatus", () => {
  for (const [event, row] of Object.entries(table))
    for (const [index, expected] of row.entries()) {
      const from = statuses[index] ?? "error"
      it(`${from} on ${event} is ${expected}`, () => {
        const moved = transitionAgentStatus(from, Schema.decodeUnknownSync(AgentEventSchema)(event))
        assert.deepStrictEqual(
          Either.getOrElse(moved, () => "-" as const),
          expected
        )
      })
    }

  it.prop(
    "transitionAgentStatus never leaves the statuses, and nothing but a start, restart, repair or update leaves error for an agent that is up",
    [AgentStatus, FastCheck.constantFrom(...statuses), FastCheck.array(FastCheck.constantFrom(...events()))],
    ([, from, happened]) => {
      let status: AgentStatus = from
      for (const event of happened) {
        const next = Either.getOrElse(transitionAgentStatus(status, event), () => status)
        if (status === "error" && isUp(next) && !["started", "restarted", "repaired", "updated"].includes(event))
          return false
        status = next
      }
      return statuses.includes(status)
    }
  )
})

const AgentEventSchema = Schema.Literal(
  "deployed",
  "deployment-failed",
  "started",
  "stopped",
  "restarted",
  "updated",
  "repaired",
  "instance-lost"
)

function events() {
  return AgentEventSchema.literals
}
