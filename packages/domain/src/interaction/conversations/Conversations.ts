import { Data, Effect, Either, FiberSet, Option, Schedule } from "effect"
import { type ChunkReader, readLast, streamFromReader } from "../../ai/streams/ChunkReader.ts"
import type { AgentId } from "../../shared/AgentId.ts"
import { IdGenerator } from "../../ids/IdGenerator.ts"
import { IdempotentExecution, RequestClaim } from "../../limits/IdempotentExecution.ts"
import { Transaction } from "../../persistence/Transaction.ts"
import type { User } from "../../shared/User.ts"
import type { MessageAttachments } from "../attachments/Attachments.ts"
import type { AnswerEvent } from "../answers/AnswerEvent.ts"
import { makeAnswerPublication } from "../answers/AnswerPublication.ts"
import {
  abandonedMessageFailure,
  type ChatSession,
  type ChatSessionId,
  maximumMessageLength,
  type Message,
  MessageId
} from "../Conversation.ts"
import { MessageInvalid, MessageNotFound, MessageUnanswered } from "../ConversationErrors.ts"
import type { UserId } from "../../shared/UserId.ts"
import { TurnStops } from "../turns/TurnStops.ts"
import { ChatSessions } from "./ChatSessions.ts"
import { ConversationRepository } from "./ConversationRepository.ts"
import { ConversationTurns } from "./ConversationTurns.ts"
import { type KeyedMessage, makeMessageAcceptance, type MessageHooks } from "./MessageAcceptance.ts"
import { withExportedSpan } from "../../shared/SpanExport.ts"

export interface OutgoingMessage<E = never> {
  readonly message: string
  /** Finds the attachments of the message; with attachments, the text may be empty. */
  readonly attach?: ((session: ChatSession) => Effect.Effect<MessageAttachments<E>, E>) | undefined
  readonly sessionId?: ChatSessionId | undefined
  readonly agentId?: AgentId | undefined
  readonly topic?: string | undefined
}

/** A turn on behalf of another context. */
interface TurnHooks<E> extends MessageHooks<E> {
  /** Completes when the turn must be canceled. */
  readonly canceled: Effect.Effect<unknown>
}

/** Stores message and payment in one transaction. */
const unhooked: TurnHooks<never> = { before: Effect.void, alongside: Effect.void, canceled: Effect.never }

export type TurnEnd =
  | { readonly _tag: "Answered"; readonly reply: Message }
  | { readonly _tag: "Failed"; readonly reason: string; readonly callBegun: boolean }

/** Another call already stored a message with this id. */
class MessageAlreadyAccepted extends Data.TaggedError("MessageAlreadyAccepted")<{ readonly message: Message }> {}
/** No request with the same `Idempotency-Key` has sent a message. */
class MessageNotSent extends Data.TaggedError("MessageNotSent")<object> {}

/** Poll interval for a message whose turn runs in another process. */
const endPoll = Schedule.spaced("250 millis")

/**
 * Sends messages to agents. A message, its turn and the reservation of its first unit are stored together and settled
 * with the reply. A turn continues after its client disconnects.
 */
export class Conversations extends Effect.Service<Conversations>()("@berth/Conversations", {
  scoped: Effect.gen(function* () {
    const repository = yield* ConversationRepository
    const sessions = yield* ChatSessions
    const turns = yield* ConversationTurns
    const stops = yield* TurnStops
    const accept = yield* makeMessageAcceptance
    const ids = yield* IdGenerator
    const executions = yield* IdempotentExecution
    const transaction = yield* Transaction
    const running = yield* FiberSet.make<void>()

    const validate = (message: string) => {
      if (message.trim() === "") return new MessageInvalid({ reason: "must not be empty" })
      return message.length > maximumMessageLength
        ? new MessageInvalid({ reason: `must have at most ${maximumMessageLength} characters` })
        : Effect.void
    }

    /** An accepted message always has its turn, even if the client disconnects now. */
    const begin = Effect.fnUntraced(function* <E = never>(
      user: User,
      toSend: KeyedMessage,
      isResumable: boolean,
      hooks?: TurnHooks<E>
    ) {
      const publication = yield* makeAnswerPublication
      const message = yield* Effect.uninterruptible(
        Effect.tap(accept(user, toSend, hooks), (accepted) =>
          FiberSet.run(
            running,
            Effect.interruptible(
              turns.run(accepted, publication, {
                isResumable,
                invocation: toSend.invocation,
                canceled: hooks?.canceled
              })
            )
          )
        )
      )
      return { message, events: publication.events }
    })

    /** Waits for the end of a turn that any call began. */
    const awaitEnd = Effect.fnUntraced(function* (message: Message): Effect.fn.Return<TurnEnd> {
      const isEnded = Effect.map(
        repository.findOutcome(message.id),
        (found) => !Option.exists(found, ({ state }) => state === "pending")
      )
      yield* Effect.repeat(isEnded, { until: (ended) => ended, schedule: endPoll })
      const reply = yield* repository.findReply(message)
      if (Option.isSome(reply)) return { _tag: "Answered", reply: reply.value }
      const outcome = Option.getOrUndefined(yield* repository.findOutcome(message.id))
      const { callBegun = true, reason = abandonedMessageFailure } = outcome ?? {}
      return { _tag: "Failed", reason, callBegun }
    })

    /** Returns the text and the end of an answer to a message of another request. */
    const readEnd = (message: Message): ChunkReader<AnswerEvent> => {
      let isRead = false
      const end = Effect.map(awaitEnd(message), (ended): ReadonlyArray<AnswerEvent> => {
        isRead = true
        if (ended._tag === "Failed") return [{ type: "failed", n: 1, reason: ended.reason }]
        const { reply } = ended
        return [
          { type: "delta", n: 1, text: reply.content },
          { type: "done", n: 2, reply }
        ]
      })
      return Effect.suspend(() => (isRead ? Effect.succeed(null) : end))
    }

    /** Finds the message that a request with the same `Idempotency-Key` has sent, unless it failed or is deleted. */
    const findSent = (userId: UserId) =>
      executions.run(MessageId, Effect.fail(new MessageNotSent())).pipe(
        transaction.run,
        Effect.flatMap((id) => repository.findMessage(userId, id)),
        Effect.map(Option.filter(({ state }) => state !== "failed")),
        Effect.catchTag("MessageNotSent", () => Effect.succeedNone)
      )

    /**
     * Sends a message once per `Idempotency-Key`, and returns the events of its answer; a repetition receives them in
     * one delta. The deltas of a resumable answer are stored temporarily.
     */
    const send = Effect.fnUntraced(function* <E = never>(
      user: User,
      { attach, ...toSend }: OutgoingMessage<E>,
      { isResumable }: { readonly isResumable: boolean }
    ) {
      // White space next to a file is not text: providers reject it as content.
      const content = attach !== undefined && toSend.message.trim() === "" ? "" : toSend.message
      if (attach === undefined || content !== "") yield* validate(content)
      const session = yield* sessions.resolve(user.id, toSend)
      const isRepeatable = Option.isSome(yield* RequestClaim)
      const sent = isRepeatable ? yield* findSent(user.id) : Option.none()
      if (Option.isSome(sent))
        return { opening: { message: sent.value, session }, events: readEnd(sent.value), isRepeated: true }
      const attached = attach === undefined ? undefined : yield* attach(session)
      const id = MessageId.make(yield* ids.next("msg"))
      const { events, message } = yield* begin(
        user,
        {
          id,
          session,
          message: content,
          topic: toSend.topic ?? null,
          platform: "web",
          attachments: attached?.attachments
        },
        isResumable,
        attached === undefined && !isRepeatable
          ? undefined
          : {
              ...unhooked,
              // In place of a failed message.
              before: executions.record(MessageId, id),
              alongside: attached?.claim ?? Effect.void
            }
      )
      yield* Effect.annotateCurrentSpan({ "message.id": message.id, "session.id": session.id })
      return { opening: { message, session }, events, isRepeated: false }
    }, withExportedSpan("Conversations.send"))

    /** Sends a message of a known session and returns the stream of its answer. The deltas are stored temporarily. */
    const stream = Effect.fn("Conversations.stream")(function* <E>(
      user: User,
      toSend: KeyedMessage,
      hooks: TurnHooks<E>
    ) {
      yield* validate(toSend.message)
      return streamFromReader((yield* begin(user, toSend, true, hooks)).events)
    })

    /**
     * Sends a message once and waits for its end; `message` is evaluated only if it is new and repeats none. Calls with
     * the same id wait for the same turn, in every process.
     */
    const answerOnce = Effect.fn("Conversations.answerOnce")(function* <E>(
      user: User,
      { message: read, ...to }: Omit<KeyedMessage, "message"> & { readonly message: Effect.Effect<string, E> }
    ) {
      const known = yield* repository.findMessage(user.id, to.id)
      if (Option.isSome(known)) return yield* awaitEnd(known.value)
      const repeated = to.repeats === undefined ? Option.none() : yield* repository.findMessage(user.id, to.repeats)
      const toSend = { ...to, message: Option.isSome(repeated) ? repeated.value.content : yield* read }
      yield* validate(toSend.message)
      const refuseAccepted = Effect.flatMap(
        repository.findMessage(user.id, to.id),
        Option.match({ onNone: () => Effect.void, onSome: (message) => new MessageAlreadyAccepted({ message }) })
      )
      const begun = yield* Effect.either(begin(user, toSend, false, { ...unhooked, before: refuseAccepted }))
      if (Either.isLeft(begun))
        return yield* begun.left._tag === "MessageAlreadyAccepted" ? awaitEnd(begun.left.message) : begun.left
      const { events, message } = begun.right
      const last = yield* readLast(events)
      return last?.type === "done"
        ? ({ _tag: "Answered", reply: last.reply } satisfies TurnEnd)
        : yield* awaitEnd(message)
    })

    /** Sends a message and waits for the complete reply. */
    const sendAndAwait = Effect.fn("Conversations.sendAndAwait")(function* <E = never>(
      user: User,
      toSend: OutgoingMessage<E>
    ) {
      const { events, opening } = yield* send(user, toSend, { isResumable: false })
      const last = yield* readLast(events)
      if (last?.type === "done") return { ...opening, reply: last.reply }
      return yield* new MessageUnanswered({
        reason: last?.type === "failed" ? last.reason : "the agent stopped answering"
      })
    })

    /** Requests the end of a message's turn with its text so far. Returns the message before the stop. Idempotent. */
    const stop = Effect.fn("Conversations.stop")(function* (userId: UserId, id: MessageId) {
      const found = yield* repository.findMessage(userId, id)
      const message = yield* Effect.mapError(found, () => new MessageNotFound())
      if (message.state === "pending") yield* stops.request([id])
      return message
    })

    return { send, stream, sendAndAwait, answerOnce, stop }
  })
}) {}
