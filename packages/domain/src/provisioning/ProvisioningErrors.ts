import { Data, type Duration, Schema } from "effect"

export const UnclaimedLimitScope = Schema.Literal("network", "all")
export type UnclaimedLimitScope = typeof UnclaimedLimitScope.Type

/** None of the three channel tokens is given. */
export class ChannelTokenMissing extends Data.TaggedError("ChannelTokenMissing")<object> {}
/** A problem of a field, which never quotes its value. */
export interface FieldIssue {
  readonly path: string
  readonly message: string
}
/** Every field that cannot be what it should be. */
export class ProvisioningFieldInvalid extends Data.TaggedError("ProvisioningFieldInvalid")<{
  readonly issues: ReadonlyArray<FieldIssue>
}> {}
/** As many agents as allowed wait for their claim: of the caller's network, or of all. */
export class UnclaimedLimitReached extends Data.TaggedError("UnclaimedLimitReached")<{
  readonly scope: UnclaimedLimitScope
  readonly limit: number
  readonly retryAfter: Duration.Duration
}> {}
/** The backend, which provisions, does not answer. */
export class ProvisioningUnavailable extends Data.TaggedError("ProvisioningUnavailable")<object> {}
/** No agent waits for a claim with this code. */
export class ClaimCodeUnknown extends Data.TaggedError("ClaimCodeUnknown")<object> {}
