import { type AnswerFormat, encodeAnswerEvent } from "@berth/api/interaction/AnswerFrames"
import { LastEventIdInvalid, pendingRetryAfterSeconds } from "@berth/api/interaction/InteractionErrorBodies"
import {
  type AnswerEvent,
  type AnswerPosition,
  parseAnswerEventId
} from "@berth/domain/interaction/answers/AnswerEvent"
import type { ResumedAnswers } from "@berth/domain/interaction/answers/ResumedAnswers"
import type { Message } from "@berth/domain/interaction/Conversation"
import type { Conversations, OutgoingMessage } from "@berth/domain/interaction/conversations/Conversations"
import type { User } from "@berth/domain/shared/User"
import type { HttpServerRequest } from "@effect/platform"
import { Effect, Option, Stream } from "effect"
import { addResponseHeaders } from "../http/ResponseHeaders.ts"
import { respondFrames } from "../http/SseResponse.ts"

export const readLastEventId = (
  request: HttpServerRequest.HttpServerRequest
): Effect.Effect<Option.Option<AnswerPosition>, LastEventIdInvalid> =>
  Option.match(Option.fromNullable(request.headers["last-event-id"]), {
    onNone: () => Effect.succeedNone,
    onSome: (text) => Effect.asSome(Effect.mapError(parseAnswerEventId(text), () => new LastEventIdInvalid()))
  })

export const addPendingRetryAfter = addResponseHeaders({ "retry-after": String(pendingRetryAfterSeconds) })

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
      ? respondAnswer(yield* resumed.resume(user.id, position.value), format)
      : respondAnswer(yield* conversations.send(user, toSend, { isResumable: true }), format)
  })
