import { Schema } from "effect"
import { AgentStatus } from "../agents/AgentStatus.ts"
import { UserId } from "../shared/UserId.ts"

/** The state that the backend restores after every restart. An instance that is `asleep` is stopped until its next turn. */
export const DesiredState = Schema.Literal("up", "asleep", "down")
export type DesiredState = typeof DesiredState.Type

/** A user's one instance, which runs all agents of the user. The row is the specification: the process is rebuilt from it. */
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

/** The DNS label of an owner's instance, unique because ids are. */
export const makeSubdomain = (userId: UserId): string => userId.toLowerCase().replace(/[^a-z0-9]+/g, "-")
