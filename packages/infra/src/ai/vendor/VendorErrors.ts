import { Data, type Duration } from "effect"

/** No answer came, or the connection broke off within one. `reason` is a system's error code or a word of ours. */
export class VendorConnectionFailed extends Data.TaggedError("VendorConnectionFailed")<{ readonly reason: string }> {}

/** The vendor said no, in its own words. `status` is null where an answer had begun with 200 and told no code later. */
export class VendorRequestRejected extends Data.TaggedError("VendorRequestRejected")<{
  readonly status: number | null
  readonly code: string | null
  readonly type: string | null
  readonly message: string | null
  readonly retryAfter: Duration.Duration | undefined
}> {}

/** What came is not what this wire speaks. */
export class VendorAnswerMalformed extends Data.TaggedError("VendorAnswerMalformed")<{ readonly reason: string }> {}

export type VendorFailure = VendorConnectionFailed | VendorRequestRejected | VendorAnswerMalformed

/** The wire is well, but the answer was withheld or stopped for what it or the prompt says. `reason` is the vendor's word. */
export class VendorAnswerWithheld extends Data.TaggedError("VendorAnswerWithheld")<{ readonly reason: string }> {}
