import { Context, type Effect, Schema } from "effect"
import { AgentStatus } from "../agents/AgentStatus.ts"
import { AgentId } from "../shared/AgentId.ts"
import { UserId } from "../shared/UserId.ts"
import { LiveStreamId } from "./live-streams/LiveStream.ts"
import type { LiveStreamsUnavailable } from "./live-streams/LiveStreamErrors.ts"
import type {
  ChannelTokenMissing,
  ProvisioningFieldInvalid,
  ProvisioningUnavailable,
  UnclaimedLimitReached
} from "./ProvisioningErrors.ts"
import { ProvisioningPlan, ProvisioningProvider, type ProvisioningRequest } from "./ProvisioningRequest.ts"

/** The result of a provisioning; stored sealed with the idempotency key of its request. */
export const ProvisionedChannelAgent = Schema.Struct({
  userId: UserId,
  agentId: AgentId,
  subdomain: Schema.String,
  streamKey: Schema.Redacted(Schema.String),
  liveStreamId: LiveStreamId,
  playbackUrl: Schema.String,
  aiProvider: ProvisioningProvider,
  plan: ProvisioningPlan,
  status: AgentStatus,
  createdAt: Schema.DateTimeUtc,
  /** Returned to the caller; none if the bot sends it to the user of platform A. */
  claimCode: Schema.Option(Schema.Redacted(Schema.String))
})
export type ProvisionedChannelAgent = typeof ProvisionedChannelAgent.Type

export type ProvisioningFailure =
  | ChannelTokenMissing
  | ProvisioningFieldInvalid
  | UnclaimedLimitReached
  | LiveStreamsUnavailable
  | ProvisioningUnavailable

/**
 * Provisions agents with channel tokens for callers without an account, in the backend's process or over the backend
 * API.
 */
export class ChannelProvisioning extends Context.Tag("@berth/ChannelProvisioning")<
  ChannelProvisioning,
  {
    /** Idempotent by the claim of the current request's `Idempotency-Key`. */
    readonly provision: (request: ProvisioningRequest) => Effect.Effect<ProvisionedChannelAgent, ProvisioningFailure>
  }
>() {}
