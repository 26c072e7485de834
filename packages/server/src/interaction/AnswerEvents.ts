import { ChatFailed, ChatFailedBody, MessageWasNotAnsweredBody } from "@berth/api/interaction/InteractionErrorBodies"
import { type AnswerEvent, eventId } from "@berth/domain/interaction/AnswerEvent"
import type { Message } from "@berth/domain/interaction/Conversation"
import { MessageWasNotAnswered } from "@berth/domain/interaction/ConversationErrors"
import { DateTime, Schema } from "effect"
import { encodeEvent } from "../http/Sse.ts"

const encodeNotAnswered = Schema.encodeSync(MessageWasNotAnsweredBody)
const encodeChatFailed = Schema.encodeSync(ChatFailedBody)

/** How a route says that an answer is done, and that there will be none. */
export interface AnswerWords {
  readonly done: (message: Message, reply: Message) => unknown
  readonly failed: (reason: string) => unknown
}

/** In the words of POST /api/agent. */
export const agentWords: AnswerWords = {
  done: (_message, reply) => ({
    sessionId: reply.sessionId,
    reply: reply.content,
    timestamp: reply.createdAt.epochMillis
  }),
  failed: (reason) => encodeNotAnswered(new MessageWasNotAnswered({ reason }))
}

/** In the words of POST /api/chat. */
export const chatWords: AnswerWords = {
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
export const answerFrame =
  (message: Message, words: AnswerWords) =>
  (event: AnswerEvent): string => {
    const id = eventId(message.id, event.n)
    switch (event.type) {
      case "delta":
        return encodeEvent({ event: "delta", id, data: { text: event.text } })
      case "done":
        return encodeEvent({ event: "done", id, data: words.done(message, event.reply) })
      case "failed":
        return encodeEvent({ event: "error", id, data: words.failed(event.reason) })
    }
  }
