import { Data, type Duration } from "effect"

/** There was no response, or the connection failed midway. `reason` is a system error code or a fixed text. */
export class VendorConnectionFailed extends Data.TaggedError("VendorConnectionFailed")<{ readonly reason: string }> {}

/** The vendor's error. `status` is null for an error within a stream without a status. */
export class VendorRequestRejected extends Data.TaggedError("VendorRequestRejected")<{
  readonly status: number | null
  readonly code: string | null
  readonly type: string | null
  readonly message: string | null
  readonly retryAfter: Duration.Duration | undefined
}> {}

/** The response violates the vendor's protocol. */
export class VendorAnswerMalformed extends Data.TaggedError("VendorAnswerMalformed")<{ readonly reason: string }> {}

export type VendorFailure = VendorConnectionFailed | VendorRequestRejected | VendorAnswerMalformed

/** The vendor withheld or stopped the answer because of its content. `reason` is the vendor's term. */
export class VendorAnswerWithheld extends Data.TaggedError("VendorAnswerWithheld")<{ readonly reason: string }> {}
