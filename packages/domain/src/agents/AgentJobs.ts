import { Schema } from "effect"
import { AgentId } from "../shared/AgentId.ts"
import { UserId } from "../shared/UserId.ts"
import { defineJob } from "../jobs/JobKind.ts"
import { unlimitedRetries } from "../jobs/JobRetryPolicy.ts"

export const ProvisionAgentJob = defineJob({
  queue: "provision",
  name: "new-agent",
  payload: Schema.Struct({ agentId: AgentId })
})

/** Applies the current agents to the owner's instance, and deletes the files of deleted agents. */
export const ReconfigureInstanceJob = defineJob({
  queue: "tasks",
  name: "reconfigure-instance",
  retryPolicy: unlimitedRetries,
  payload: Schema.Struct({ userId: UserId }),
  isCoalesced: true
})
