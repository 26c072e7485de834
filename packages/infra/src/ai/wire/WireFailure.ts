import { Data, type Duration } from "effect"

/** No answer came, or the connection broke off within one. `reason` is a system's error code or a word of ours. */
export class WireIsBroken extends Data.TaggedError("WireIsBroken")<{ readonly reason: string }> {}

/** The vendor said no, in its own words. `status` is null where an answer had begun with 200 and told no code later. */
export class VendorRefused extends Data.TaggedError("VendorRefused")<{
  readonly status: number | null
  readonly code: string | null
  readonly type: string | null
  readonly message: string | null
  readonly retryAfter: Duration.Duration | undefined
}> {}

/** What came is not what this wire speaks. */
export class AnswerIsNonsense extends Data.TaggedError("AnswerIsNonsense")<{ readonly reason: string }> {}

export type WireFailure = WireIsBroken | VendorRefused | AnswerIsNonsense

/** The wire is well, but the answer was withheld or stopped for what it or the prompt says. `reason` is the vendor's word. */
export class AnswerIsWithheld extends Data.TaggedError("AnswerIsWithheld")<{ readonly reason: string }> {}
