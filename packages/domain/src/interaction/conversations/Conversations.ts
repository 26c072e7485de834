import { Cause, DateTime, Duration, Effect, FiberSet, Option, Schedule, Stream } from "effect"
import type { User } from "../../shared/User.ts"
import { type Agent } from "../../agents/Agent.ts"
import { Agents } from "../../agents/Agents.ts"
import { isUp } from "../../agents/AgentStatus.ts"
import { UnitLedger, type ReservationId } from "../../billing/units/UnitLedger.ts"
import { IdGenerator } from "../../ids/IdGenerator.ts"
import { AgentManager } from "../../instances/AgentManager.ts"
import { Transaction } from "../../persistence/Transaction.ts"
import type { AnswerEvent, AnswerPosition } from "../answers/AnswerEvent.ts"
import { AnswerStreams } from "../answers/AnswerStreams.ts"
import { type ChatSession, ChatSessionId, maximumMessageLength, type Message, MessageId } from "../Conversation.ts"
import {
  ChatSessionNotFound,
  MessageInvalid,
  MessageNotFound,
  MessageUnanswered,
  RunningAgentNotFound,
  ChatSessionLimitReached
} from "../ConversationErrors.ts"
import { ConversationRepository } from "./ConversationRepository.ts"
import { type AnswerPart, followAnswer, computeAnswerStep } from "../answers/AnswerReplay.ts"
import { fitHistory, maximumHistoryMessages } from "./HistoryWindow.ts"
import { Memories } from "../memory/Memories.ts"
import * as SessionLine from "./TurnQueue.ts"
import { publishAnswer, type AnswerPublication } from "../answers/AnswerPublication.ts"
import type { AgentId } from "../../shared/AgentId.ts"
import type { UserId } from "../../shared/UserId.ts"

export interface OutgoingMessage {
  readonly message: string
  readonly sessionId?: ChatSessionId | undefined
  readonly agentId?: AgentId | undefined
  readonly topic?: string | undefined
}

/** How long a turn is held for a process that has stopped saying it works on it. */
const lease = Duration.seconds(15)
const leaseRenewal = Duration.seconds(5)
const givingUpAgain = Schedule.spaced("250 millis").pipe(Schedule.upTo("5 seconds"))
/** Messages that wait for their answers at a time. More would only wait longer than anybody does. */
const pendingLimits = { session: 16, user: 64 }
/** Conversations of one user. */
const maximumSessions = 10_000
/** What a message through either route costs, unless all its model calls went by its user's own keys. */
const messageUnits = 1

/**
 * Talking to an agent. The message's row comes first and is the record; its unit is reserved before and settled with the
 * reply. A turn goes on when its client leaves: a message that was accepted gets its answer, or fails and costs nothing.
 */
export class Conversations extends Effect.Service<Conversations>()("@berth/Conversations", {
  scoped: Effect.gen(function* () {
    const repository = yield* ConversationRepository
    const agents = yield* Agents
    const manager = yield* AgentManager
    const charging = yield* UnitLedger
    const ids = yield* IdGenerator
    const memories = yield* Memories
    const transaction = yield* Transaction
    const streams = yield* AnswerStreams
    const line = yield* SessionLine.make
    const turns = yield* FiberSet.make<void>()

    const findSession = (userId: UserId, id: ChatSessionId) =>
      Effect.flatMap(
        repository.findSession(userId, id),
        Effect.mapError(() => new ChatSessionNotFound())
      )

    const findAgentUp = Effect.fnUntraced(function* (userId: UserId, agentId: AgentId | undefined) {
      if (agentId === undefined)
        return yield* Effect.mapError(yield* agents.findDefaultRunning(userId), () => new RunningAgentNotFound())
      const agent = yield* agents.find(userId, agentId)
      return isUp(agent.status) ? agent : yield* new RunningAgentNotFound()
    })

    const openSession = Effect.fnUntraced(function* (userId: UserId, agent: Agent) {
      const now = yield* DateTime.now
      const session: ChatSession = {
        id: ChatSessionId.make(yield* ids.next("chs")),
        userId,
        agentId: agent.id,
        status: "active",
        messageCount: 0,
        createdAt: now,
        lastActivity: now
      }
      if (!(yield* repository.insertSession(session, maximumSessions)))
        return yield* new ChatSessionLimitReached({ limit: maximumSessions })
      return session
    })

    /** The agent and session a message goes to: the named session's agent, the named agent, or the oldest that is up. */
    const addressee = Effect.fnUntraced(function* (userId: UserId, to: OutgoingMessage) {
      if (to.sessionId !== undefined) {
        const session = yield* findSession(userId, to.sessionId)
        if (to.agentId !== undefined && to.agentId !== session.agentId) return yield* new ChatSessionNotFound()
        yield* findAgentUp(userId, session.agentId)
        return session
      }
      const agent = yield* findAgentUp(userId, to.agentId)
      const active = yield* repository.findActiveSession(userId, agent.id)
      return yield* Option.match(active, { onNone: () => openSession(userId, agent), onSome: Effect.succeed })
    })

    /** Stores the message with its reservation, both or neither. */
    const accept = Effect.fnUntraced(function* (user: User, session: ChatSession, toSend: OutgoingMessage) {
      const id = MessageId.make(yield* ids.next("msg"))
      const leaseUntil = DateTime.addDuration(yield* DateTime.now, lease)
      return yield* transaction.run(
        Effect.gen(function* () {
          const reservation = yield* charging.reserve(user, messageUnits, id)
          const message = yield* repository.appendUserMessage(
            { id, sessionId: session.id, content: toSend.message, topic: toSend.topic ?? null, platform: "web" },
            leaseUntil,
            reservation,
            pendingLimits
          )
          return { message, reservation }
        })
      )
    })

    const releaseAny = (reservation: Option.Option<ReservationId>) =>
      Option.match(reservation, { onNone: () => Effect.void, onSome: charging.release })
    const settleAny = (reservation: Option.Option<ReservationId>, units: number) =>
      Option.match(reservation, { onNone: () => Effect.void, onSome: (id) => charging.settle(id, units) })

    /** One renewal that fails is no reason to break off an answer: there are further ones before the lease ends. */
    const keepLease = (message: Message) =>
      DateTime.now.pipe(
        Effect.flatMap((now) => repository.renewLease(message.id, DateTime.addDuration(now, lease))),
        Effect.catchAllCause((cause) => Effect.logWarning("The lease of a turn was not renewed", cause)),
        Effect.schedule(Schedule.spaced(leaseRenewal))
      )

    /**
     * What the turn of a message begins with, as soon as all that went before it has been answered or has failed. Fewer may wait
     * than a transcript is long.
     */
    const awaitTurn = (message: Message, place: SessionLine.TurnTicket) => {
      const look = Effect.gen(function* () {
        const { afterSeq, ...known } = yield* memories.recallForTurn(message)
        const before = yield* repository.readTranscript(message.sessionId, {
          afterSeq,
          beforeSeq: message.seq,
          limit: maximumHistoryMessages
        })
        return { known, before }
      })
      const waiting = (looks: number): Effect.Effect<void> =>
        Effect.flatMap(Effect.zipRight(place.wait(looks), repository.isNext(message)), (next) =>
          next ? Effect.void : waiting(looks + 1)
        )
      return Effect.flatMap(look, (seen) =>
        seen.before.some(({ state }) => state === "pending") ? Effect.zipRight(waiting(0), look) : Effect.succeed(seen)
      )
    }

    const answer = Effect.fn("Conversations.answer")(function* (
      message: Message,
      reservation: Option.Option<ReservationId>,
      place: SessionLine.TurnTicket,
      telling: AnswerPublication
    ) {
      const { before, known } = yield* awaitTurn(message, place)
      const turn = {
        agentId: message.agentId,
        sessionId: message.sessionId,
        messageId: message.id,
        ...known,
        history: fitHistory(before).map(({ content, sender, seq }) => ({ seq, role: toChatRole(sender), content })),
        message: message.content
      }
      const reply = yield* manager.chat(message.userId, turn).pipe(
        Stream.tap((event) => {
          if (event.type === "compacted") return memories.storeSummary(message, event)
          return event.type === "delta" ? telling.publishDelta(event.text) : Effect.void
        }),
        Stream.runFold(Option.none<string>(), (whole, event) =>
          event.type === "done" ? Option.some(event.reply) : whole
        ),
        Effect.flatMap(Effect.mapError(() => new MessageUnanswered({ reason: "the agent stopped answering" })))
      )
      const replyId = MessageId.make(yield* ids.next("msg"))
      const told = yield* telling.deltaCount
      yield* streams.flush(message.id)
      // Settled also when the message is gone: whoever deletes a conversation in mid-answer has had the answer. A message
      // that was given up has had its unit back, and then there is nothing left to settle.
      const stored = yield* transaction.run(
        Effect.tap(repository.storeReply(message, { id: replyId, content: reply, deltaCount: told }), (answered) =>
          settleAny(reservation, Option.exists(answered, ({ ownKeys }) => ownKeys) ? 0 : messageUnits)
        )
      )
      return yield* Option.match(stored, {
        onNone: () => new MessageUnanswered({ reason: "the message was given up" }),
        onSome: (answered) => Effect.succeed(answered.reply)
      })
    })

    /** Tries again for a moment: what failed the turn may be the same that keeps it from being put in order. */
    const giveUp = (
      message: Message,
      reservation: Option.Option<ReservationId>,
      why: { readonly reason: string; readonly deltaCount: number }
    ) =>
      transaction
        .run(Effect.zipRight(repository.markFailed(message.id, why), releaseAny(reservation)))
        .pipe(Effect.sandbox, Effect.retry(givingUpAgain), Effect.unsandbox)

    /** Works a message off, tells of it, and gives back what it reserved when no answer comes, at a shutdown too. */
    const turn = (message: Message, reservation: Option.Option<ReservationId>, telling: AnswerPublication) =>
      Effect.uninterruptibleMask((restore) =>
        Effect.flatMap(line.enter(message.sessionId, message.seq), (place) =>
          answer(message, reservation, place, telling).pipe(
            Effect.raceFirst(Effect.zipRight(keepLease(message), Effect.never)),
            restore,
            Effect.matchCauseEffect({
              onSuccess: telling.complete,
              onFailure: (cause) =>
                Effect.gen(function* () {
                  const { agentId, id: messageId, userId } = message
                  const reason = reasonOf(cause)
                  const told = yield* telling.deltaCount
                  yield* Effect.logError("A message was not answered", cause).pipe(
                    Effect.annotateLogs({ messageId, agentId, userId, reason })
                  )
                  yield* streams.flush(messageId)
                  yield* giveUp(message, reservation, { reason, deltaCount: told })
                  yield* telling.fail(reason)
                })
            }),
            Effect.catchAllCause((cause) => Effect.logError("A turn ended badly", cause)),
            Effect.ensuring(telling.fail("an internal error"))
          )
        ).pipe(Effect.scoped)
      )

    /**
     * Sends a message and answers with the stream of its answer. Pieces that are `kept` can be followed from anywhere for a
     * while; nobody comes back to an answer whose message he was not told of.
     */
    const send = Effect.fn("Conversations.send")(function* (
      user: User,
      toSend: OutgoingMessage,
      options: { readonly isResumable: boolean }
    ) {
      if (toSend.message.trim() === "") return yield* new MessageInvalid({ reason: "must not be empty" })
      if (toSend.message.length > maximumMessageLength)
        return yield* new MessageInvalid({ reason: `must have at most ${maximumMessageLength} characters` })
      const session = yield* addressee(user.id, toSend)
      // An accepted message always has its turn, also when the client leaves in this very moment.
      const { events, message } = yield* Effect.uninterruptible(
        Effect.gen(function* () {
          const { message, reservation } = yield* accept(user, session, toSend)
          const telling = yield* publishAnswer(
            options.isResumable ? Option.some((piece) => streams.append(message.id, piece)) : Option.none()
          )
          yield* FiberSet.run(turns, Effect.interruptible(turn(message, reservation, telling)))
          return { message, events: telling.events }
        })
      )
      yield* Effect.annotateCurrentSpan({ "message.id": message.id, "session.id": session.id })
      return { message, session, events }
    })

    const eventOf = (message: Message, part: AnswerPart): Effect.Effect<AnswerEvent> =>
      part.type === "answered"
        ? Effect.map(
            repository.findReply(message),
            Option.match({
              onNone: (): AnswerEvent => ({ type: "failed", n: part.n, reason: "the message was deleted" }),
              onSome: (reply): AnswerEvent => ({ type: "done", n: part.n, reply })
            })
          )
        : Effect.succeed(part)

    /**
     * The rest of an answer that somebody stopped to hear, from whatever process: what is kept of its pieces, then what comes.
     * When pieces are missing, because their time is over, the end alone comes, with the whole reply. `isOver`: he has heard all of it.
     */
    const resume = Effect.fn("Conversations.resume")(function* (userId: UserId, { after, messageId }: AnswerPosition) {
      const found = yield* repository.findMessage(userId, messageId)
      const message = yield* Effect.mapError(found, () => new MessageNotFound())
      const seen = computeAnswerStep(yield* streams.read(messageId, after), after)
      return {
        message,
        isOver: seen.isDone && seen.parts.length === 0,
        events: Stream.mapEffect(
          followAnswer((position) => streams.read(messageId, position), after),
          (part) => eventOf(message, part)
        )
      }
    })

    /** Sends a message and waits for the whole reply. */
    const sendAndAwait = Effect.fn("Conversations.sendAndAwait")(function* (user: User, toSend: OutgoingMessage) {
      const { events, message, session } = yield* send(user, toSend, { isResumable: false })
      const last = Option.getOrUndefined(yield* Stream.runLast(events))
      if (last?.type === "done") return { message, session, reply: last.reply }
      return yield* new MessageUnanswered({
        reason: last?.type === "failed" ? last.reason : "the agent stopped answering"
      })
    })

    const createSession = Effect.fn("Conversations.createSession")(function* (
      userId: UserId,
      agentId: AgentId | undefined
    ) {
      return yield* openSession(userId, yield* findAgentUp(userId, agentId))
    })

    return { send, resume, sendAndAwait, createSession }
  })
}) {}

export const toChatRole = (sender: Message["sender"]): "user" | "assistant" =>
  sender === "user" ? "user" : "assistant"

const reasonOf = (cause: Cause.Cause<{ readonly _tag: string; readonly reason: string }>): string =>
  Option.match(Cause.failureOption(cause), {
    onNone: () => (Cause.isInterruptedOnly(cause) ? "the service is shutting down" : "an internal error"),
    onSome: ({ reason }) => reason
  })
