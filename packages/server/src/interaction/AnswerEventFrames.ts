import { encodeSseEvent } from "@berth/api/http/Sse"
import { ChatFailed, ChatFailedBody, MessageUnansweredBody } from "@berth/api/interaction/InteractionErrorBodies"
import { type AnswerEvent, formatAnswerEventId } from "@berth/domain/interaction/answers/AnswerEvent"
import type { Message } from "@berth/domain/interaction/Conversation"
import { MessageUnanswered } from "@berth/domain/interaction/ConversationErrors"
import { DateTime, Schema } from "effect"

const encodeNotAnswered = Schema.encodeSync(MessageUnansweredBody)
const encodeChatFailed = Schema.encodeSync(ChatFailedBody)

/** How a route says that an answer is done, and that there will be none. */
export interface AnswerFormat {
  readonly done: (message: Message, reply: Message) => unknown
  readonly failed: (reason: string) => unknown
}

/** In the words of POST /api/agent. */
export const agentAnswerFormat: AnswerFormat = {
  done: (_message, reply) => ({
    sessionId: reply.sessionId,
    reply: reply.content,
    timestamp: reply.createdAt.epochMillis
  }),
  failed: (reason) => encodeNotAnswered(new MessageUnanswered({ reason }))
}

/** In the words of POST /api/chat. */
export const chatAnswerFormat: AnswerFormat = {
  done: (message, reply) => ({
    id: message.id,
    message: message.content,
    topic: message.topic,
    status: "sent",
    timestamp: DateTime.formatIso(message.createdAt),
    reply: reply.content
  }),
  failed: (reason) => encodeChatFailed(new ChatFailed({ reason }))
}

/** An answer's event as a server-sent one: `delta`s, then `done` or `error`. */
export const encodeAnswerFrame =
  (message: Message, words: AnswerFormat) =>
  (event: AnswerEvent): string => {
    const id = formatAnswerEventId(message.id, event.n)
    switch (event.type) {
      case "delta":
        return encodeSseEvent({ event: "delta", id, data: JSON.stringify({ text: event.text }) })
      case "done":
        return encodeSseEvent({ event: "done", id, data: JSON.stringify(words.done(message, event.reply)) })
      case "failed":
        return encodeSseEvent({ event: "error", id, data: JSON.stringify(words.failed(event.reason)) })
    }
  }
