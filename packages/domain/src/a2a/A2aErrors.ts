import { Data } from "effect"

/** The caller does not own the agent in `from`, or there is none. */
export class A2aSenderNotOwned extends Data.TaggedError("A2aSenderNotOwned")<object> {}
/** The envelope contradicts itself or its address. */
export class A2aMessageInvalid extends Data.TaggedError("A2aMessageInvalid")<{ readonly reason: string }> {}
/** The sender has sent another message under this id. */
export class A2aMessageConflict extends Data.TaggedError("A2aMessageConflict")<object> {}
/** Too many messages of the sender, or to the receiver, are in progress. */
export class A2aQueueFull extends Data.TaggedError("A2aQueueFull")<object> {}
/** The chain is too long, a loop, or without budget. */
export class DelegationRefused extends Data.TaggedError("DelegationRefused")<{ readonly reason: string }> {}
/** The receiver does not offer the skill, or the input does not fit it. */
export class OfferedSkillNotFound extends Data.TaggedError("OfferedSkillNotFound")<{ readonly reason: string }> {}
/** A call of the skill `a2a-send` has no result; the reason is for the model. */
export class A2aCallFailed extends Data.TaggedError("A2aCallFailed")<{ readonly reason: string }> {}
