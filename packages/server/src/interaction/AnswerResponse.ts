import { agentAnswerFormat, type AnswerFormat, encodeAnswerEvent } from "@berth/api/interaction/AnswerFrames"
import { interactionRetryAfterSeconds, LastEventIdInvalid } from "@berth/api/interaction/InteractionErrorBodies"
import {
  type AnswerEvent,
  type AnswerPosition,
  parseAnswerEventId
} from "@berth/domain/interaction/answers/AnswerEvent"
import type { ResumedAnswers } from "@berth/domain/interaction/answers/ResumedAnswers"
import type { Message, MessageId } from "@berth/domain/interaction/Conversation"
import type { Conversations, OutgoingMessage } from "@berth/domain/interaction/conversations/Conversations"
import type { User } from "@berth/domain/shared/User"
import { type HttpServerRequest, HttpServerResponse } from "@effect/platform"
import { Effect, Either, Option, Stream } from "effect"
import { addResponseHeaders } from "../http/ResponseHeaders.ts"
import { respondFrames } from "../http/SseResponse.ts"

export const readLastEventId = (
  request: HttpServerRequest.HttpServerRequest
): Effect.Effect<Option.Option<AnswerPosition>, LastEventIdInvalid> =>
  Option.match(Option.fromNullable(request.headers["last-event-id"]), {
    onNone: () => Effect.succeedNone,
    onSome: (text) => Effect.asSome(Effect.mapError(parseAnswerEventId(text), () => new LastEventIdInvalid()))
  })

const addInteractionRetryAfter = addResponseHeaders({ "retry-after": String(interactionRetryAfterSeconds) })

/** Adds `Retry-After` to the limits of pending messages and resumed answers. */
export const withInteractionRetryAfter = <A, E extends { readonly _tag: string }, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.tapError(effect, ({ _tag }) =>
    _tag === "PendingMessageLimitReached" || _tag === "ResumedAnswerLimitReached"
      ? addInteractionRetryAfter
      : Effect.void
  )

interface StreamedAnswer {
  readonly opening: { readonly message: Message }
  readonly events: Stream.Stream<AnswerEvent>
}

export const respondAnswer = ({ events, opening }: StreamedAnswer, format: AnswerFormat) =>
  respondFrames(Stream.map(events, encodeAnswerEvent(opening.message, format)))

/** Resumes the answer that `position` names; without one, sends the message and streams its answer. */
export const respondStreamedChat = (
  { conversations, resumed }: { readonly conversations: Conversations; readonly resumed: ResumedAnswers },
  user: User,
  position: Option.Option<AnswerPosition>,
  toSend: OutgoingMessage,
  format: AnswerFormat
) =>
  Effect.gen(function* () {
    return Option.isSome(position)
      ? respondAnswer(yield* resumed.resumeForRequest(user.id, position.value), format)
      : respondAnswer(yield* conversations.send(user, toSend, { isResumable: true }), format)
  })

/** GET of an answer's events: from the beginning or behind `Last-Event-ID`, 204 behind the end. */
export const respondAnswerEvents = (
  resumed: ResumedAnswers,
  user: User,
  messageId: MessageId,
  request: HttpServerRequest.HttpServerRequest
) =>
  Effect.gen(function* () {
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
    return answer.opening.isOver ? HttpServerResponse.empty({ status: 204 }) : respondAnswer(answer, agentAnswerFormat)
  })
