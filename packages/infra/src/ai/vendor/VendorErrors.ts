import { Data, type Duration } from "effect"

/** No response, or the connection broke off. `reason` is a system error code or a fixed text. */
export class VendorConnectionFailed extends Data.TaggedError("VendorConnectionFailed")<{ readonly reason: string }> {}

/** The vendor's error. `status` is null for an error within a stream that carries none. */
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

/** The vendor withheld or stopped the answer because of its content. `reason` is the vendor's word. */
export class VendorAnswerWithheld extends Data.TaggedError("VendorAnswerWithheld")<{ readonly reason: string }> {}
