import { Attachments } from "@berth/domain/interaction/attachments/Attachments"
import type { AttachmentId } from "@berth/domain/interaction/attachments/Attachment"
import type { ChatSession, ChatSessionId } from "@berth/domain/interaction/Conversation"
import { MessageInvalid } from "@berth/domain/interaction/ConversationErrors"
import type { AgentId } from "@berth/domain/shared/AgentId"
import type { User } from "@berth/domain/shared/User"
import { Effect } from "effect"

interface ChatFields {
  readonly message?: string | undefined
  readonly sessionId?: ChatSessionId | undefined
  readonly agentId?: AgentId | undefined
  readonly topic?: string | undefined
  readonly attachments?: ReadonlyArray<AttachmentId> | undefined
}

/** Reads the message of a request. Resuming an answer requires no message, and attachments require no text. */
export const makeMessageReader = Effect.map(
  Attachments,
  (attachments) =>
    ({ id }: User, { agentId, attachments: named = [], message, sessionId, topic }: ChatFields, isResuming = false) => {
      if (message === undefined && named.length === 0 && !isResuming)
        return new MessageInvalid({ reason: "is missing" })
      const attach = (session: ChatSession) => attachments.attach(id, named, session)
      return Effect.succeed({
        agentId,
        sessionId,
        topic,
        message: message ?? "",
        attach: named.length === 0 ? undefined : attach
      })
    }
)
export type MessageReader = Effect.Effect.Success<typeof makeMessageReader>
