import { Schema } from "effect"
import { UserId } from "../shared/User.ts"
import { AgentStatus } from "../agents/AgentStatus.ts"

/** What the owner wants of the instance; the backend makes it so, again after every restart. */
export const DesiredState = Schema.Literal("up", "down")
export type DesiredState = typeof DesiredState.Type

/** A user's one instance: the cell that runs all his agents. The row is the wish and the record, the cell is rebuilt from it. */
export class Instance extends Schema.Class<Instance>("Instance")({
  userId: UserId,
  /** DNS label, unique. */
  subdomain: Schema.String,
  desired: DesiredState,
  status: AgentStatus,
  startedAt: Schema.NullOr(Schema.DateTimeUtcFromSelf),
  runtimeVersion: Schema.NullOr(Schema.String),
  createdAt: Schema.DateTimeUtcFromSelf
}) {}
