import { Data } from "effect"

/** The agent in `from` does not exist or is not the caller's. */
export class A2aSenderNotOwned extends Data.TaggedError("A2aSenderNotOwned")<object> {}
/** The envelope is inconsistent or does not match its address. */
export class A2aMessageInvalid extends Data.TaggedError("A2aMessageInvalid")<{ readonly reason: string }> {}
/** The sender used this id for a different message. */
export class A2aMessageConflict extends Data.TaggedError("A2aMessageConflict")<object> {}
/** The sender or the receiver has too many messages in progress. */
export class A2aQueueFull extends Data.TaggedError("A2aQueueFull")<object> {}
/** The chain is too long, contains a loop or has no budget left. */
export class DelegationRefused extends Data.TaggedError("DelegationRefused")<{ readonly reason: string }> {}
/** The receiver does not offer the skill, or the input is invalid for it. */
export class OfferedSkillNotFound extends Data.TaggedError("OfferedSkillNotFound")<{ readonly reason: string }> {}
/** A call of the skill `a2a-send` has no result; the reason is for the model. */
export class A2aCallFailed extends Data.TaggedError("A2aCallFailed")<{ readonly reason: string }> {}
