import { Data, DateTime, Effect, Either, FiberSet, Option, Schedule } from "effect"
import { type ChunkReader, readLast, streamFromReader } from "../../ai/streams/ChunkReader.ts"
import type { AgentId } from "../../shared/AgentId.ts"
import { BudgetExceeded } from "../../billing/budgets/Budget.ts"
import { UnitsExhausted } from "../../billing/units/Reservation.ts"
import { UnitLedger } from "../../billing/units/UnitLedger.ts"
import { IdGenerator } from "../../ids/IdGenerator.ts"
import type { ToolInvocation } from "../../instances/AgentRuntime.ts"
import { IdempotentExecution, RequestClaim } from "../../limits/IdempotentExecution.ts"
import { leaseDuration } from "../../limits/Lease.ts"
import { Transaction } from "../../persistence/Transaction.ts"
import type { MessageOrigin } from "../../shared/Channel.ts"
import { noUnits, type Units } from "../../shared/Money.ts"
import * as OwnerLocks from "../../shared/OwnerLocks.ts"
import type { User } from "../../shared/User.ts"
import type { Attachment } from "../attachments/Attachment.ts"
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
import { messageUnits } from "../turns/TurnPricing.ts"
import { Agents } from "../../agents/Agents.ts"
import { OwnerModels } from "../../ai/models/OwnerModels.ts"
import type { TurnPayment } from "../turns/TurnPayment.ts"
import { withExportedSpan } from "../../shared/SpanExport.ts"

export interface OutgoingMessage<E = never> {
  readonly message: string
  /** Finds the attachments of the message; with attachments, the text may be empty. */
  readonly attach?: ((session: ChatSession) => Effect.Effect<MessageAttachments<E>, E>) | undefined
  readonly sessionId?: ChatSessionId | undefined
  readonly agentId?: AgentId | undefined
  readonly topic?: string | undefined
}

/** A message with an id from its sender, for idempotent repetitions. */
export interface KeyedMessage {
  readonly id: MessageId
  readonly session: ChatSession
  readonly message: string
  readonly platform: MessageOrigin
  readonly attachments?: ReadonlyArray<Attachment> | undefined
  /** Tool to invoke instead of the model. */
  readonly invocation?: ToolInvocation | undefined
  readonly repeats?: MessageId | undefined
  /** Maximum units of the turn. */
  readonly unitLimit?: Units | undefined
}

/** A turn on behalf of another context. */
export interface TurnHooks<E> {
  /** Runs in the transaction of the message, before the message and its payment are stored. */
  readonly before: Effect.Effect<void, E>
  /** Runs in the transaction of the message, after the message is stored. */
  readonly alongside: Effect.Effect<void, E>
  /** Completes when the turn must be canceled. */
  readonly canceled: Effect.Effect<unknown>
}

type MessageToStore = KeyedMessage & { readonly topic?: string | null }
type Stored<E> = Pick<TurnHooks<E>, "alongside" | "before">

/** Stores message and payment in one transaction. */
const unhooked: TurnHooks<never> = { before: Effect.void, alongside: Effect.void, canceled: Effect.never }

export type TurnEnd =
  | { readonly _tag: "Answered"; readonly reply: Message }
  | { readonly _tag: "Failed"; readonly reason: string; readonly callBegun: boolean }

/** Another call already stored a message with this id. */
class MessageAlreadyAccepted extends Data.TaggedError("MessageAlreadyAccepted")<{ readonly message: Message }> {}

const isAlreadyAccepted = (error: unknown): error is MessageAlreadyAccepted => error instanceof MessageAlreadyAccepted

const isSpendingRefused = (error: unknown): error is UnitsExhausted | BudgetExceeded =>
  error instanceof UnitsExhausted || error instanceof BudgetExceeded

/** Poll interval for a message whose turn runs in another process. */
const endPoll = Schedule.spaced("250 millis")

/** Maximum pending messages. */
const pendingLimits = { session: 16, user: 64 }

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
    const ledger = yield* UnitLedger
    const agents = yield* Agents
    const models = yield* OwnerModels
    const ids = yield* IdGenerator
    const transaction = yield* Transaction
    const executions = yield* IdempotentExecution
    const running = yield* FiberSet.make<void>()
    const withOwnerLock = yield* OwnerLocks.make

    /**
     * Stores the message, its turn, the reservation and the hooks' rows atomically. A message with a new id holds no
     * lock on its user's balance.
     */
    const store = Effect.fnUntraced(function* <E, F>(
      { attachments, id, message: content, platform, repeats, session, topic = null, unitLimit }: MessageToStore,
      pay: Effect.Effect<TurnPayment, E>,
      stored: Stored<F> | undefined
    ) {
      const leaseUntil = DateTime.addDuration(yield* DateTime.now, leaseDuration)
      const append = (payment: TurnPayment) =>
        repository.appendUserMessage(
          { id, sessionId: session.id, content, topic, platform, attachments, repeats },
          Object.assign({}, payment, { unitLimit, leaseUntil }),
          pendingLimits
        )
      return yield* stored === undefined
        ? Effect.flatMap(pay, (payment) =>
            Effect.onError(append(payment), () =>
              Effect.transposeMapOption(payment.reservation, (reserved) => ledger.close(reserved, noUnits))
            )
          )
        : repository
            .lockNewMessages(session.userId)
            .pipe(
              Effect.zipRight(stored.before),
              Effect.zipRight(pay),
              Effect.flatMap(append),
              Effect.zipLeft(stored.alongside),
              transaction.run
            )
    })

    /** Stores a message with a new id, paid by the day's units. None, without any change, if that is impossible. */
    const storePaid = Effect.fnUntraced(function* (
      user: User,
      { attachments, id, message: content, platform, session, topic = null, unitLimit }: MessageToStore,
      append: typeof repository.appendPaidMessage
    ) {
      const payment = ledger.describeReservation(user, messageUnits, session.agentId)
      if (Option.isNone(payment)) return Option.none()
      return yield* append(
        { id, sessionId: session.id, content, topic, platform, attachments },
        { unitLimit, leaseUntil: DateTime.addDuration(yield* DateTime.now, leaseDuration) },
        payment.value,
        pendingLimits
      )
    })

    /** Without sufficient units, credits or budgets, accepts only a message that the user's own keys answer. */
    const acceptInSteps = <E>(user: User, toSend: MessageToStore, stored: Stored<E> | undefined) =>
      store(
        toSend,
        Effect.map(ledger.reserveUnannounced(user, messageUnits, toSend.id, toSend.session.agentId), (reservation) => ({
          reservation,
          ownKeysOnly: false
        })),
        stored
      ).pipe(
        // Not by its tag, since errors of `alongside` may have the same.
        Effect.catchIf(isSpendingRefused, (refusal) =>
          Effect.gen(function* () {
            const { customModel, model } = yield* agents.find(user.id, toSend.session.agentId)
            if (yield* models.isCoveredByOwnKeys(user.id, customModel ?? model))
              return yield* store(toSend, Effect.succeed({ reservation: Option.none(), ownKeysOnly: true }), stored)
            yield* ledger.announceExhaustion(user, refusal)
            return yield* refusal
          })
        )
      )

    const acceptAlone = Effect.fnUntraced(function* <E>(
      user: User,
      toSend: MessageToStore,
      stored: Stored<E> | undefined
    ) {
      const message =
        stored === undefined ? yield* storePaid(user, toSend, repository.appendPaidMessage) : Option.none()
      return Option.isSome(message) ? message.value : yield* acceptInSteps(user, toSend, stored)
    })

    const accept = Effect.fnUntraced(function* <E>(user: User, toSend: MessageToStore, stored: Stored<E> | undefined) {
      const message = stored === undefined ? yield* storePaid(user, toSend, repository.appendWithOthers) : Option.none()
      if (Option.isSome(message)) return message.value
      // One message of a user at a time: concurrent messages would each hold a connection while they wait for the lock.
      return yield* withOwnerLock(user.id, acceptAlone(user, toSend, stored))
    })

    const validate = (message: string) => {
      if (message.trim() === "") return new MessageInvalid({ reason: "must not be empty" })
      return message.length > maximumMessageLength
        ? new MessageInvalid({ reason: `must have at most ${maximumMessageLength} characters` })
        : Effect.void
    }

    /** An accepted message always has its turn, even if the client disconnects now. */
    const begin = Effect.fnUntraced(function* <E = never>(
      user: User,
      toSend: MessageToStore,
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

    /** Fails if a request with the same `Idempotency-Key` has sent a message, unless that failed or is deleted. */
    const refuseSent = Effect.fnUntraced(function* (user: User, id: MessageId) {
      const sent = yield* executions.run(MessageId, Effect.succeed(id))
      const found = sent === id ? Option.none() : yield* repository.findMessage(user.id, sent)
      if (Option.isSome(found) && found.value.state !== "failed")
        return yield* new MessageAlreadyAccepted({ message: found.value })
    })

    /**
     * Sends a message once per `Idempotency-Key`, and returns the events of its answer. The deltas of a resumable
     * answer are stored temporarily.
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
      const attached = attach === undefined ? undefined : yield* attach(session)
      const id = MessageId.make(yield* ids.next("msg"))
      const isRepeatable = Option.isSome(yield* RequestClaim)
      const { events, message } = yield* begin<E | MessageAlreadyAccepted>(
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
              before: isRepeatable ? refuseSent(user, id) : Effect.void,
              alongside: attached?.claim ?? Effect.void
            }
      ).pipe(
        Effect.catchIf(isAlreadyAccepted, ({ message: sent }) =>
          Effect.succeed({ message: sent, events: readEnd(sent) })
        )
      )
      yield* Effect.annotateCurrentSpan({ "message.id": message.id, "session.id": session.id })
      return { opening: { message, session }, events }
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
