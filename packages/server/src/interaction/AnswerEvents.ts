import { MessageWasNotAnsweredBody } from "@berth/api/interaction/InteractionErrorBodies"
import type { MessageWasNotAnswered } from "@berth/domain/interaction/ConversationErrors"
import type { AnswerEvent } from "@berth/domain/interaction/Conversations"
import { Schema, Stream } from "effect"
import type { ServerSentEvent } from "../http/Sse.ts"

const encodeFailure = Schema.encodeSync(MessageWasNotAnsweredBody)

/** An answer as server-sent events: `delta`s, then `done` or `error`; ids count from 1. */
export const answerEvents = (
  answer: Stream.Stream<AnswerEvent, MessageWasNotAnswered>,
  messageId: string
): Stream.Stream<ServerSentEvent> =>
  answer.pipe(
    Stream.map((event) =>
      event.type === "delta"
        ? { event: "delta", data: { text: event.text } }
        : {
            event: "done",
            data: {
              sessionId: event.reply.sessionId,
              reply: event.reply.content,
              timestamp: event.reply.createdAt.epochMillis
            }
          }
    ),
    Stream.catchAll((error) => Stream.make({ event: "error", data: encodeFailure(error) })),
    Stream.zipWithIndex,
    Stream.map(([event, index]) => ({ ...event, id: `${messageId}:${index + 1}` }))
  )
