import { Data } from "effect"

export class ChatSessionNotFound extends Data.TaggedError("ChatSessionNotFound")<object> {}
export class MessageInvalid extends Data.TaggedError("MessageInvalid")<{ readonly reason: string }> {}
export class RunningAgentNotFound extends Data.TaggedError("RunningAgentNotFound")<object> {}
export class TitleInvalid extends Data.TaggedError("TitleInvalid")<{ readonly reason: string }> {}
/** The message is stored without a reply. */
export class MessageUnanswered extends Data.TaggedError("MessageUnanswered")<{ readonly reason: string }> {}
/** The user stopped the answer before its first text. */
export class AnswerStopped extends Data.TaggedError("AnswerStopped")<{ readonly reason: string }> {}
/** The message was canceled, or given up by a deletion, before its reply. */
export class MessageCanceled extends Data.TaggedError("MessageCanceled")<{ readonly reason: string }> {}
export class NoteNotFound extends Data.TaggedError("NoteNotFound")<object> {}
export class MessageNotFound extends Data.TaggedError("MessageNotFound")<object> {}
/** Limit of pending messages per conversation and per user. */
export class PendingMessageLimitReached extends Data.TaggedError("PendingMessageLimitReached")<{
  readonly of: "session" | "user"
  readonly limit: number
}> {}
/** Limit of distinct answers that a user resumes at a time. */
export class ResumedAnswerLimitReached extends Data.TaggedError("ResumedAnswerLimitReached")<{
  readonly limit: number
}> {}
export class ChatSessionLimitReached extends Data.TaggedError("ChatSessionLimitReached")<{ readonly limit: number }> {}
