import { Data, type Duration, Schema } from "effect"

export const UnclaimedLimitScope = Schema.Literal("network", "all")
export type UnclaimedLimitScope = typeof UnclaimedLimitScope.Type

/** None of the three channel tokens is given. */
export class ChannelTokenMissing extends Data.TaggedError("ChannelTokenMissing")<object> {}
/** A problem of a field, without its value. */
export interface FieldIssue {
  readonly path: string
  readonly message: string
}
export class ProvisioningFieldInvalid extends Data.TaggedError("ProvisioningFieldInvalid")<{
  readonly issues: ReadonlyArray<FieldIssue>
}> {}
/** The maximum number of unclaimed agents is reached, for the caller's network or in total. */
export class UnclaimedLimitReached extends Data.TaggedError("UnclaimedLimitReached")<{
  readonly scope: UnclaimedLimitScope
  readonly limit: number
  readonly retryAfter: Duration.Duration
}> {}
/** The backend that provisions does not respond. */
export class ProvisioningUnavailable extends Data.TaggedError("ProvisioningUnavailable")<object> {}
export class ClaimCodeUnknown extends Data.TaggedError("ClaimCodeUnknown")<object> {}
