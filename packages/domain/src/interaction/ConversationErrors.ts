import { Data } from "effect"

export class ChatSessionIsUnknown extends Data.TaggedError("ChatSessionIsUnknown")<object> {}
export class MessageIsInvalid extends Data.TaggedError("MessageIsInvalid")<{ readonly reason: string }> {}
/** The user has no agent that is up. */
export class NoAgentIsRunning extends Data.TaggedError("NoAgentIsRunning")<object> {}
/** The message is kept, but no answer came. */
export class MessageWasNotAnswered extends Data.TaggedError("MessageWasNotAnswered")<{ readonly reason: string }> {}
/** There is no such message of the user's. */
export class MessageIsUnknown extends Data.TaggedError("MessageIsUnknown")<object> {}
/** So many messages of a conversation, or of the user, wait for their answers already. */
export class TooManyArePending extends Data.TaggedError("TooManyArePending")<{
  readonly of: "session" | "user"
  readonly limit: number
}> {}
/** The user has as many conversations as anybody may have. */
export class TooManySessions extends Data.TaggedError("TooManySessions")<{ readonly limit: number }> {}
