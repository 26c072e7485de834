import { Cause, DateTime, Duration, Effect, FiberSet, Mailbox, Option, Schedule, Stream } from "effect"
import type { User, UserId } from "../accounts/User.ts"
import { type Agent, type AgentId } from "../agents/Agent.ts"
import { Agents } from "../agents/Agents.ts"
import { isUp } from "../agents/AgentStatus.ts"
import { Charging, type ReservationId } from "../billing/Charging.ts"
import { IdGenerator } from "../ids/IdGenerator.ts"
import { AgentManager } from "../instances/AgentManager.ts"
import { Transaction } from "../persistence/Transaction.ts"
import { type ChatSession, ChatSessionId, maximumMessageLength, type Message, MessageId } from "./Conversation.ts"
import {
  ChatSessionIsUnknown,
  MessageIsInvalid,
  MessageWasNotAnswered,
  NoAgentIsRunning
} from "./ConversationErrors.ts"
import { ConversationRepository } from "./ConversationRepository.ts"
import { fitHistory, historyLength } from "./History.ts"
import { Memories } from "./Memories.ts"

export interface ToSend {
  readonly message: string
  readonly sessionId?: ChatSessionId | undefined
  readonly agentId?: AgentId | undefined
  readonly topic?: string | undefined
}

/** An answer as it comes: pieces, then the stored reply. */
export type AnswerEvent =
  { readonly type: "delta"; readonly text: string } | { readonly type: "done"; readonly reply: Message }

/** How long a turn is held for a process that has stopped saying it works on it. */
const lease = Duration.seconds(15)
const leaseRenewal = Duration.seconds(5)
/** How often a turn looks whether the ones before it in its session are done. */
const turnPolling = Duration.millis(50)
const givingUpAgain = Schedule.spaced("250 millis").pipe(Schedule.upTo("5 seconds"))
/** Messages of a session that are shown at most, the newest ones. */
const recordLength = 300
const memoryLength = 10
/** What a message through either route costs. */
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
    const charging = yield* Charging
    const ids = yield* IdGenerator
    const memories = yield* Memories
    const transaction = yield* Transaction
    const turns = yield* FiberSet.make<void>()

    const findSession = (userId: UserId, id: ChatSessionId) =>
      Effect.flatMap(
        repository.findSession(userId, id),
        Effect.mapError(() => new ChatSessionIsUnknown())
      )

    const findAgentUp = Effect.fnUntraced(function* (userId: UserId, agentId: AgentId | undefined) {
      if (agentId === undefined)
        return yield* Effect.mapError(yield* agents.findFirstUp(userId), () => new NoAgentIsRunning())
      const agent = yield* agents.find(userId, agentId)
      return isUp(agent.status) ? agent : yield* new NoAgentIsRunning()
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
      yield* repository.insertSession(session)
      return session
    })

    /** The agent and session a message goes to: the named session's agent, the named agent, or the oldest that is up. */
    const addressee = Effect.fnUntraced(function* (userId: UserId, to: ToSend) {
      if (to.sessionId !== undefined) {
        const session = yield* findSession(userId, to.sessionId)
        if (to.agentId !== undefined && to.agentId !== session.agentId) return yield* new ChatSessionIsUnknown()
        yield* findAgentUp(userId, session.agentId)
        return session
      }
      const agent = yield* findAgentUp(userId, to.agentId)
      const active = yield* repository.findActiveSession(userId, agent.id)
      return yield* Option.match(active, { onNone: () => openSession(userId, agent), onSome: Effect.succeed })
    })

    /** Stores the message with its reservation; what was reserved goes back when it cannot be stored. */
    const accept = Effect.fnUntraced(function* (user: User, session: ChatSession, toSend: ToSend) {
      const id = MessageId.make(yield* ids.next("msg"))
      const reservation = yield* charging.reserve(user, messageUnits, id)
      const leaseUntil = DateTime.addDuration(yield* DateTime.now, lease)
      const message = yield* repository
        .appendUserMessage(
          { id, sessionId: session.id, content: toSend.message, topic: toSend.topic ?? null, platform: "web" },
          leaseUntil,
          reservation
        )
        .pipe(Effect.onExit((exit) => (exit._tag === "Failure" ? releaseAny(reservation) : Effect.void)))
      return { message, reservation }
    })

    const releaseAny = (reservation: Option.Option<ReservationId>) =>
      Option.match(reservation, { onNone: () => Effect.void, onSome: charging.release })
    const settleAny = (reservation: Option.Option<ReservationId>) =>
      Option.match(reservation, { onNone: () => Effect.void, onSome: (id) => charging.settle(id, messageUnits) })

    /** One renewal that fails is no reason to break off an answer: there are further ones before the lease ends. */
    const keepLease = (message: Message) =>
      DateTime.now.pipe(
        Effect.flatMap((now) => repository.renewLease(message.id, DateTime.addDuration(now, lease))),
        Effect.catchAllCause((cause) => Effect.logWarning("The lease of a turn was not renewed", cause)),
        Effect.schedule(Schedule.spaced(leaseRenewal))
      )

    const awaitTurn = (message: Message) =>
      repository.isNext(message).pipe(Effect.repeat({ until: (next) => next, schedule: Schedule.spaced(turnPolling) }))

    const answer = Effect.fn("Conversations.answer")(function* (
      message: Message,
      reservation: Option.Option<ReservationId>,
      tell: (event: AnswerEvent) => Effect.Effect<unknown>
    ) {
      yield* awaitTurn(message)
      const { afterSeq, ...known } = yield* memories.forTurn(message)
      const before = yield* repository.transcript(message.sessionId, {
        afterSeq,
        beforeSeq: message.seq,
        limit: historyLength
      })
      const turn = {
        agentId: message.agentId,
        sessionId: message.sessionId,
        messageId: message.id,
        ...known,
        history: fitHistory(before).map(({ content, sender, seq }) => ({ seq, role: roleOf(sender), content })),
        message: message.content
      }
      const reply = yield* manager.chat(message.userId, turn).pipe(
        Stream.tap((event) => {
          if (event.type === "compacted") return memories.summarise(message, event)
          return event.type === "delta" ? tell(event) : Effect.void
        }),
        Stream.runFold(Option.none<string>(), (whole, event) =>
          event.type === "done" ? Option.some(event.reply) : whole
        ),
        Effect.flatMap(Effect.mapError(() => new MessageWasNotAnswered({ reason: "the agent stopped answering" })))
      )
      const replyId = MessageId.make(yield* ids.next("msg"))
      // Settled also when the message is gone: whoever deletes a conversation in mid-answer has had the answer. A message
      // that was given up has had its unit back, and then there is nothing left to settle.
      const stored = yield* transaction.run(
        Effect.zipLeft(repository.answer(message, { id: replyId, content: reply }), settleAny(reservation))
      )
      return yield* Effect.mapError(stored, () => new MessageWasNotAnswered({ reason: "the message was given up" }))
    })

    /** Tries again for a moment: what failed the turn may be the same that keeps it from being put in order. */
    const giveUp = (message: Message, reservation: Option.Option<ReservationId>) =>
      transaction
        .run(Effect.zipRight(repository.fail(message.id), releaseAny(reservation)))
        .pipe(Effect.sandbox, Effect.retry(givingUpAgain), Effect.unsandbox)

    /** Works a message off, tells the mailbox, and gives back what it reserved when no answer comes, at a shutdown too. */
    const turn = (
      message: Message,
      reservation: Option.Option<ReservationId>,
      mailbox: Mailbox.Mailbox<AnswerEvent, MessageWasNotAnswered>
    ) =>
      Effect.uninterruptibleMask((restore) =>
        answer(message, reservation, (event) => mailbox.offer(event)).pipe(
          Effect.raceFirst(Effect.zipRight(keepLease(message), Effect.never)),
          restore,
          Effect.matchCauseEffect({
            onSuccess: (reply) => Effect.zipRight(mailbox.offer({ type: "done", reply }), mailbox.end),
            onFailure: (cause) => {
              const { agentId, id: messageId, userId } = message
              const reason = reasonOf(cause)
              return Effect.logError("A message was not answered", cause).pipe(
                Effect.annotateLogs({ messageId, agentId, userId, reason }),
                Effect.zipRight(giveUp(message, reservation)),
                Effect.zipRight(mailbox.fail(new MessageWasNotAnswered({ reason })))
              )
            }
          }),
          Effect.catchAllCause((cause) => Effect.logError("A turn ended badly", cause)),
          Effect.ensuring(mailbox.end),
          Effect.asVoid
        )
      )

    /** Sends a message and answers with the stream of its answer. The effect fails before, the stream after the message was stored. */
    const send = Effect.fn("Conversations.send")(function* (user: User, toSend: ToSend) {
      if (toSend.message.trim() === "") return yield* new MessageIsInvalid({ reason: "must not be empty" })
      if (toSend.message.length > maximumMessageLength)
        return yield* new MessageIsInvalid({ reason: `must have at most ${maximumMessageLength} characters` })
      const session = yield* addressee(user.id, toSend)
      const mailbox = yield* Mailbox.make<AnswerEvent, MessageWasNotAnswered>()
      // An accepted message always has its turn, also when the client leaves in this very moment.
      const message = yield* Effect.uninterruptible(
        Effect.tap(accept(user, session, toSend), ({ message, reservation }) =>
          FiberSet.run(turns, Effect.interruptible(turn(message, reservation, mailbox)))
        ).pipe(Effect.map(({ message }) => message))
      )
      yield* Effect.annotateCurrentSpan({ "message.id": message.id, "session.id": session.id })
      return { message, session, events: Mailbox.toStream(mailbox) }
    })

    /** Sends a message and waits for the whole reply. */
    const ask = Effect.fn("Conversations.ask")(function* (user: User, toSend: ToSend) {
      const { events, message, session } = yield* send(user, toSend)
      const reply = yield* Stream.runFold(events, Option.none<Message>(), (whole, event) =>
        event.type === "done" ? Option.some(event.reply) : whole
      )
      return {
        message,
        session,
        reply: yield* Effect.mapError(reply, () => new MessageWasNotAnswered({ reason: "the agent stopped answering" }))
      }
    })

    const createSession = Effect.fn("Conversations.createSession")(function* (
      userId: UserId,
      agentId: AgentId | undefined
    ) {
      return yield* openSession(userId, yield* findAgentUp(userId, agentId))
    })

    const sessions = Effect.fn("Conversations.sessions")(function* (userId: UserId) {
      return yield* repository.listSessions(userId, 100)
    })

    const session = Effect.fn("Conversations.session")(function* (userId: UserId, id: ChatSessionId) {
      const found = yield* findSession(userId, id)
      return { session: found, messages: yield* repository.record(id, recordLength) }
    })

    /** The last messages of the session that was used last; none when there is no session. */
    const memory = Effect.fn("Conversations.memory")(function* (userId: UserId, agentId: AgentId | undefined) {
      if (agentId !== undefined) yield* agents.find(userId, agentId)
      const [active] = (yield* repository.listSessions(userId, 100)).filter(
        (candidate) => agentId === undefined || candidate.agentId === agentId
      )
      return active === undefined ? [] : yield* repository.record(active.id, memoryLength)
    })

    /** When the user's conversations with an agent were last used. */
    const lastActivity = Effect.fn("Conversations.lastActivity")(function* (userId: UserId, agentId: AgentId) {
      return Option.map(yield* repository.findActiveSession(userId, agentId), (active) => active.lastActivity)
    })

    /** An agent's messages over all conversations, newest first. */
    const messagesOf = Effect.fn("Conversations.messagesOf")(function* (
      agentId: AgentId,
      page: { readonly limit: number; readonly offset: number }
    ) {
      return yield* repository.listOfAgent(agentId, page)
    })

    /** How an agent has done so far; `recent` counts the last hour. */
    const figuresOf = Effect.fn("Conversations.figuresOf")(function* (agentId: AgentId) {
      return yield* repository.figuresOfAgent(agentId, DateTime.subtract(yield* DateTime.now, { hours: 1 }))
    })

    /** Forgets every conversation of the user, and what his agents noted; answers how many conversations. */
    const forget = Effect.fn("Conversations.forget")(function* (userId: UserId) {
      return yield* transaction.run(Effect.zipRight(memories.forget(userId), repository.removeSessions(userId)))
    })

    /** All the user's messages, newest first, and how many there are. */
    const history = Effect.fn("Conversations.history")(function* (userId: UserId, limit: number) {
      return yield* Effect.all({
        messages: repository.listOfUser(userId, limit),
        count: repository.countOfUser(userId)
      })
    })

    return {
      send,
      ask,
      createSession,
      sessions,
      session,
      memory,
      lastActivity,
      messagesOf,
      figuresOf,
      forget,
      history
    }
  })
}) {}

export const roleOf = (sender: Message["sender"]): "user" | "assistant" => (sender === "user" ? "user" : "assistant")

const reasonOf = (cause: Cause.Cause<{ readonly _tag: string; readonly reason: string }>): string =>
  Option.match(Cause.failureOption(cause), {
    onNone: () => (Cause.isInterruptedOnly(cause) ? "the service is shutting down" : "an internal error"),
    onSome: ({ reason }) => reason
  })
