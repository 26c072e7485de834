import { Schema } from "effect"
import { AgentId } from "../shared/AgentId.ts"
import { UserId } from "../shared/UserId.ts"
import type { JobKind } from "../jobs/JobKind.ts"
import { unlimitedRetries } from "../jobs/JobRetryPolicy.ts"

/** Provisions an agent in its owner's instance. */
export const ProvisionAgentJob = {
  queue: "provision",
  name: "new-agent",
  payload: Schema.Struct({ agentId: AgentId })
} as const satisfies JobKind<{ readonly agentId: AgentId }, { readonly agentId: string }>

/** Applies the current agents to the owner's instance, and deletes the files of deleted agents. */
export const ReconfigureInstanceJob = {
  queue: "tasks",
  name: "reconfigure-instance",
  retryPolicy: unlimitedRetries,
  payload: Schema.Struct({ userId: UserId }),
  isCoalesced: true
} as const satisfies JobKind<{ readonly userId: UserId }, { readonly userId: string }>
