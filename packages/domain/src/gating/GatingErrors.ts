import { Data } from "effect"

/** The operator has named no gating token. */
export class GatingNotConfigured extends Data.TaggedError("GatingNotConfigured")<object> {}
/** Whether the address holds the token could not be found out. */
export class GatingCheckFailed extends Data.TaggedError("GatingCheckFailed")<{ readonly reason: string }> {}
