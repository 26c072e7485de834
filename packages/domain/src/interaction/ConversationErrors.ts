import { Data } from "effect"

export class ChatSessionIsUnknown extends Data.TaggedError("ChatSessionIsUnknown")<object> {}
export class MessageIsInvalid extends Data.TaggedError("MessageIsInvalid")<{ readonly reason: string }> {}
/** The user has no agent that is up. */
export class NoAgentIsRunning extends Data.TaggedError("NoAgentIsRunning")<object> {}
/** The message is kept, but no answer came. */
export class MessageWasNotAnswered extends Data.TaggedError("MessageWasNotAnswered")<{ readonly reason: string }> {}
