import { Schema } from "effect"
import { AgentStatus } from "../agents/AgentStatus.ts"
import { UserId } from "../shared/UserId.ts"

/**
 * Desired state, restored by the backend after every restart. An instance that is `asleep` is stopped until its next
 * turn.
 */
export const DesiredState = Schema.Literal("up", "asleep", "down")
export type DesiredState = typeof DesiredState.Type

/**
 * A user's only instance, which runs all of the user's agents. The row is the specification, from which the process is
 * rebuilt.
 */
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

/** Returns the DNS label of an owner's instance; unique, since ids are unique. */
export const makeSubdomain = (userId: UserId): string => userId.toLowerCase().replace(/[^a-z0-9]+/g, "-")
