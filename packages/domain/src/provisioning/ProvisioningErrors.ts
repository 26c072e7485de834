import { Data, type Duration } from "effect"

/** None of the three channel tokens is given. */
export class ChannelTokenMissing extends Data.TaggedError("ChannelTokenMissing")<object> {}
/** A field cannot be what it should be. `reason` never quotes its value. */
export class ProvisioningFieldInvalid extends Data.TaggedError("ProvisioningFieldInvalid")<{
  readonly field: string
  readonly reason: string
}> {}
/** As many agents as allowed wait for their claim. */
export class UnclaimedLimitReached extends Data.TaggedError("UnclaimedLimitReached")<{
  readonly limit: number
  readonly retryAfter: Duration.Duration
}> {}
/** The backend, which provisions, does not answer. */
export class ProvisioningUnavailable extends Data.TaggedError("ProvisioningUnavailable")<object> {}
/** No agent waits for a claim with this code. */
export class ClaimCodeUnknown extends Data.TaggedError("ClaimCodeUnknown")<object> {}
