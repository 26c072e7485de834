import { Schema } from "effect"
import type { JobKind } from "../jobs/JobKind.ts"
import { AgentId } from "../shared/AgentId.ts"

/** An unclaimed agent expired: its encoders must not upload any more. */
export const RevokeStreamKeyJob = {
  queue: "tasks",
  name: "revoke-stream-key",
  payload: Schema.Struct({ agentId: AgentId })
} as const satisfies JobKind<{ readonly agentId: AgentId }, { readonly agentId: string }>
