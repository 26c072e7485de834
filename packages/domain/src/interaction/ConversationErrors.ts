import { Data } from "effect"

export class ChatSessionNotFound extends Data.TaggedError("ChatSessionNotFound")<object> {}
export class MessageInvalid extends Data.TaggedError("MessageInvalid")<{ readonly reason: string }> {}
/** The user has no agent that is up. */
export class RunningAgentNotFound extends Data.TaggedError("RunningAgentNotFound")<object> {}
/** The message is kept, but no answer came. */
export class MessageUnanswered extends Data.TaggedError("MessageUnanswered")<{ readonly reason: string }> {}
/** There is no such message of the user's. */
export class MessageNotFound extends Data.TaggedError("MessageNotFound")<object> {}
/** So many messages of a conversation, or of the user, wait for their answers already. */
export class PendingMessageLimitReached extends Data.TaggedError("PendingMessageLimitReached")<{
  readonly of: "session" | "user"
  readonly limit: number
}> {}
/** The user has as many conversations as anybody may have. */
export class ChatSessionLimitReached extends Data.TaggedError("ChatSessionLimitReached")<{ readonly limit: number }> {}
