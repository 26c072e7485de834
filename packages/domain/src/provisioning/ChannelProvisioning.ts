import { Context, type DateTime, type Effect, type Option, type Redacted } from "effect"
import type { AgentStatus } from "../agents/AgentStatus.ts"
import type { AgentId } from "../shared/AgentId.ts"
import type { UserId } from "../shared/UserId.ts"
import type { LiveStreamId } from "./live-streams/LiveStream.ts"
import type { LiveStreamsUnavailable } from "./live-streams/LiveStreamErrors.ts"
import type {
  ChannelTokenMissing,
  ProvisioningFieldInvalid,
  ProvisioningUnavailable,
  UnclaimedLimitReached
} from "./ProvisioningErrors.ts"
import type { ProvisioningPlan, ProvisioningProvider, ProvisioningRequest } from "./ProvisioningRequest.ts"

export interface ProvisionedChannelAgent {
  readonly userId: UserId
  readonly agentId: AgentId
  readonly subdomain: string
  readonly streamKey: Redacted.Redacted
  readonly liveStreamId: LiveStreamId
  readonly playbackUrl: string
  readonly aiProvider: ProvisioningProvider
  readonly plan: ProvisioningPlan
  readonly status: AgentStatus
  readonly createdAt: DateTime.Utc
  /** Returned to the caller; none if the bot sends it to the user of platform A. */
  readonly claimCode: Option.Option<Redacted.Redacted>
}

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
