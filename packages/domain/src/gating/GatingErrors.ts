import { Data } from "effect"

/** No gating token is configured. */
export class GatingNotConfigured extends Data.TaggedError("GatingNotConfigured")<object> {}
export class GatingCheckFailed extends Data.TaggedError("GatingCheckFailed")<{ readonly reason: string }> {}
