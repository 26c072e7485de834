import { makeAnsweringModelHeaders } from "@berth/api/ai/AnsweringModelHeaders"
import { agentAnswerFormat, type AnswerFormat, encodeAnswerEvent } from "@berth/api/interaction/AnswerFrames"
import { interactionRetryAfter, LastEventIdInvalid } from "@berth/api/interaction/InteractionErrorBodies"
import {
  type AnswerEvent,
  type AnswerPosition,
  parseAnswerEventId
} from "@berth/domain/interaction/answers/AnswerEvent"
import { type ChunkReader, readerFromStream } from "@berth/domain/ai/streams/ChunkReader"
import type { ResumedAnswer, ResumedAnswers } from "@berth/domain/interaction/answers/ResumedAnswers"
import { findAnsweringModel, type Message, type MessageId } from "@berth/domain/interaction/Conversation"
import type { Conversations, OutgoingMessage } from "@berth/domain/interaction/conversations/Conversations"
import type { User } from "@berth/domain/shared/User"
import { type HttpServerRequest, HttpServerResponse } from "@effect/platform"
import { absurd, Effect, Either, Option, type Scope } from "effect"
import { addRetryAfter } from "../http/ResponseHeaders.ts"
import { respondEncoded } from "../http/SseResponse.ts"
import { currentTraceId } from "../http/TraceId.ts"

export const readLastEventId = (
  request: HttpServerRequest.HttpServerRequest
): Effect.Effect<Option.Option<AnswerPosition>, LastEventIdInvalid> =>
  Option.match(Option.fromNullable(request.headers["last-event-id"]), {
    onNone: () => Effect.succeedNone,
    onSome: (text) => Effect.asSome(Effect.mapError(parseAnswerEventId(text), () => new LastEventIdInvalid()))
  })

/** Adds `Retry-After` to the limits of pending messages and resumed answers. */
export const withInteractionRetryAfter = <A, E extends { readonly _tag: string }, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.tapError(effect, ({ _tag }) =>
    _tag === "PendingMessageLimitReached" || _tag === "ResumedAnswerLimitReached"
      ? addRetryAfter({ retryAfter: interactionRetryAfter })
      : Effect.void
  )

interface StreamedAnswer {
  readonly opening: { readonly message: Message; readonly reply?: Message | undefined }
  readonly events: Effect.Effect<ChunkReader<AnswerEvent>, never, Scope.Scope>
}

export const makeReplyHeaders = (reply: Message | undefined) =>
  makeAnsweringModelHeaders(reply === undefined ? undefined : findAnsweringModel(reply))

/** Only a resumed answer that has ended has its model in the headers; `done` always has it. */
const respondAnswer = ({ events, opening: { message, reply } }: StreamedAnswer, format: AnswerFormat) =>
  Effect.map(currentTraceId, (traceId) =>
    respondEncoded(
      events,
      { encode: encodeAnswerEvent(message, format, Option.getOrUndefined(traceId)), toLast: absurd },
      makeReplyHeaders(reply)
    )
  )

const readResumed = ({ events, opening }: ResumedAnswer): StreamedAnswer => ({
  opening,
  events: readerFromStream(events)
})

/** Resumes the answer at `position`; without one, sends the message and streams its answer. */
export const respondStreamedChat = Effect.fnUntraced(function* <E = never>(
  { conversations, resumed }: { readonly conversations: Conversations; readonly resumed: ResumedAnswers },
  user: User,
  position: Option.Option<AnswerPosition>,
  toSend: OutgoingMessage<E>,
  format: AnswerFormat
) {
  const resume = (from: AnswerPosition) =>
    Effect.flatMap(resumed.resumeForRequest(user.id, from), (answer) => respondAnswer(readResumed(answer), format))
  if (Option.isSome(position)) return yield* resume(position.value)
  const { events, isRepeated, opening } = yield* conversations.send(user, toSend, { isResumable: true })
  return isRepeated
    ? yield* resume({ messageId: opening.message.id, after: 0 })
    : yield* respondAnswer({ opening, events: Effect.succeed(events) }, format)
})

/** GET of an answer's events: from the beginning or after `Last-Event-ID`; 204 after the end. */
export const respondAnswerEvents = Effect.fnUntraced(function* (
  resumed: ResumedAnswers,
  user: User,
  messageId: MessageId,
  request: HttpServerRequest.HttpServerRequest
) {
  // Ownership of the message (404) precedes the header's validity (400).
  const position = Either.filterOrLeft(
    yield* Effect.either(readLastEventId(request)),
    Option.match({ onNone: () => true, onSome: (found) => found.messageId === messageId }),
    () => new LastEventIdInvalid()
  )
  const after = Either.match(position, {
    onLeft: () => 0,
    onRight: Option.match({ onNone: () => 0, onSome: (found) => found.after })
  })
  const answer = yield* resumed.resumeForRequest(user.id, { messageId, after })
  yield* position
  return answer.opening.isOver
    ? HttpServerResponse.empty({ status: 204 })
    : yield* respondAnswer(readResumed(answer), agentAnswerFormat)
})
