import { type AnswerEvent, formatAnswerEventId } from "@berth/domain/interaction/answers/AnswerEvent"
import { findAnsweringModel, type Message } from "@berth/domain/interaction/Conversation"
import { MessageUnanswered } from "@berth/domain/interaction/ConversationErrors"
import { DateTime, Schema } from "effect"
import { encodeSseEvent } from "../http/Sse.ts"
import type { ServerFrame } from "./AgentSocketFrames.ts"
import { ChatFailed, ChatFailedBody, MessageUnansweredBody } from "./InteractionErrorBodies.ts"

/* Events of an answer for the two client protocols. Both include the event's id, which resumes the answer. */

const encodeMessageUnanswered = Schema.encodeSync(MessageUnansweredBody)
const encodeChatFailed = Schema.encodeSync(ChatFailedBody)

/** Data of a route's `done` and `error` events. */
export interface AnswerFormat {
  readonly done: (message: Message, reply: Message) => unknown
  readonly failed: (reason: string) => object
}

const makeAnswerFacts = (reply: Message) => ({
  ...findAnsweringModel(reply),
  ...(reply.units === null ? {} : { units: reply.units }),
  ...(reply.costMicros === null ? {} : { costMicros: reply.costMicros }),
  ...(reply.durationMs === null ? {} : { durationMs: reply.durationMs }),
  ...(reply.isStopped ? { stopped: true } : {})
})

/** Bodies of POST /api/agent. */
export const agentAnswerFormat: AnswerFormat = {
  done: (_message, reply) => ({
    sessionId: reply.sessionId,
    reply: reply.content,
    timestamp: reply.createdAt.epochMillis,
    ...makeAnswerFacts(reply)
  }),
  failed: (reason) => encodeMessageUnanswered(new MessageUnanswered({ reason }))
}

/** Bodies of POST /api/chat. */
export const chatAnswerFormat: AnswerFormat = {
  done: (message, reply) => ({
    id: message.id,
    message: message.content,
    topic: message.topic,
    status: "sent",
    timestamp: DateTime.formatIso(message.createdAt),
    reply: reply.content,
    ...makeAnswerFacts(reply)
  }),
  failed: (reason) => encodeChatFailed(new ChatFailed({ reason }))
}

/** Encodes an event as a server-sent event: `delta`, `done` or `error` with the trace id. */
export const encodeAnswerEvent =
  (message: Message, format: AnswerFormat, traceId: string | undefined) =>
  (event: AnswerEvent): string => {
    const encode = (name: string, data: unknown) =>
      encodeSseEvent({ event: name, id: formatAnswerEventId(message.id, event.n), data: JSON.stringify(data) })
    switch (event.type) {
      case "delta":
        return encode("delta", { text: event.text })
      case "tool":
        return encode("tool", event.call)
      case "done":
        return encode("done", format.done(message, event.reply))
      case "failed":
        return encode("error", { ...format.failed(event.reason), traceId })
    }
  }

/** Maps an event to a WebSocket frame. */
export const makeAnswerFrame =
  (message: Message, traceId: string | undefined) =>
  (event: AnswerEvent): ServerFrame => {
    const id = formatAnswerEventId(message.id, event.n)
    switch (event.type) {
      case "delta":
        return { type: "delta", id, text: event.text }
      case "tool":
        return { type: "tool", id, call: event.call }
      case "done": {
        const { content, createdAt, sessionId } = event.reply
        const facts = makeAnswerFacts(event.reply)
        return { type: "done", id, sessionId, reply: content, timestamp: createdAt.epochMillis, ...facts }
      }
      case "failed": {
        const {
          code,
          error,
          message: sentence
        } = encodeMessageUnanswered(new MessageUnanswered({ reason: event.reason }))
        return { type: "error", id, code, error, message: sentence, ...(traceId === undefined ? {} : { traceId }) }
      }
    }
  }
