import { DateTime, Effect, FiberSet, Option, Stream } from "effect"
import type { AgentId } from "../../shared/AgentId.ts"
import { UnitLedger } from "../../billing/units/UnitLedger.ts"
import { IdGenerator } from "../../ids/IdGenerator.ts"
import { leaseDuration } from "../../limits/Lease.ts"
import { Transaction } from "../../persistence/Transaction.ts"
import type { User } from "../../shared/User.ts"
import { makeAnswerPublication } from "../answers/AnswerPublication.ts"
import { type ChatSession, type ChatSessionId, maximumMessageLength, MessageId } from "../Conversation.ts"
import { MessageInvalid, MessageUnanswered } from "../ConversationErrors.ts"
import { ChatSessions } from "./ChatSessions.ts"
import { ConversationRepository } from "./ConversationRepository.ts"
import { ConversationTurns } from "./ConversationTurns.ts"
import { messageUnits } from "../turns/TurnPricing.ts"
import { Agents } from "../../agents/Agents.ts"
import { OwnKeyCoverage } from "../turns/OwnKeyCoverage.ts"
import type { TurnPayment } from "../turns/TurnPayment.ts"

export interface OutgoingMessage {
  readonly message: string
  readonly sessionId?: ChatSessionId | undefined
  readonly agentId?: AgentId | undefined
  readonly topic?: string | undefined
}

/** Pending messages at a time. */
const pendingLimits = { session: 16, user: 64 }

/**
 * Sends messages to agents. A message, its turn and the reservation of its first unit are stored together and settled with
 * the reply. A turn goes on when its client disconnects.
 */
export class Conversations extends Effect.Service<Conversations>()("@berth/Conversations", {
  scoped: Effect.gen(function* () {
    const repository = yield* ConversationRepository
    const sessions = yield* ChatSessions
    const turns = yield* ConversationTurns
    const ledger = yield* UnitLedger
    const agents = yield* Agents
    const ownKeys = yield* OwnKeyCoverage
    const ids = yield* IdGenerator
    const transaction = yield* Transaction
    const running = yield* FiberSet.make<void>()

    /** Stores the message, its turn and the reservation, all or none. */
    const store = Effect.fnUntraced(function* <E>(
      session: ChatSession,
      toSend: OutgoingMessage,
      pay: (id: MessageId) => Effect.Effect<TurnPayment, E>
    ) {
      const id = MessageId.make(yield* ids.next("msg"))
      const leaseUntil = DateTime.addDuration(yield* DateTime.now, leaseDuration)
      return yield* transaction.run(
        Effect.flatMap(pay(id), (payment) =>
          repository.appendUserMessage(
            { id, sessionId: session.id, content: toSend.message, topic: toSend.topic ?? null, platform: "web" },
            { ...payment, leaseUntil },
            pendingLimits
          )
        )
      )
    })

    /** Without units and credits, only a message that the user's own keys answer is accepted. */
    const accept = (user: User, session: ChatSession, toSend: OutgoingMessage) =>
      store(session, toSend, (id) =>
        Effect.map(ledger.reserve(user, messageUnits, id), (reservation) => ({ reservation, ownKeysOnly: false }))
      ).pipe(
        Effect.catchTag("UnitsExhausted", (exhausted) =>
          Effect.gen(function* () {
            const { customModel, model } = yield* agents.find(user.id, session.agentId)
            return (yield* ownKeys.covers(user.id, customModel ?? model))
              ? yield* store(session, toSend, () => Effect.succeed({ reservation: Option.none(), ownKeysOnly: true }))
              : yield* exhausted
          })
        )
      )

    /** Sends a message and returns the stream of its answer. The deltas of a resumable answer are stored for a while. */
    const send = Effect.fn("Conversations.send")(function* (
      user: User,
      toSend: OutgoingMessage,
      { isResumable }: { readonly isResumable: boolean }
    ) {
      if (toSend.message.trim() === "") return yield* new MessageInvalid({ reason: "must not be empty" })
      if (toSend.message.length > maximumMessageLength)
        return yield* new MessageInvalid({ reason: `must have at most ${maximumMessageLength} characters` })
      const session = yield* sessions.resolve(user.id, toSend)
      const publication = yield* makeAnswerPublication
      // An accepted message always has its turn, also when the client disconnects at this moment.
      const message = yield* Effect.uninterruptible(
        Effect.tap(accept(user, session, toSend), (accepted) =>
          FiberSet.run(running, Effect.interruptible(turns.run(accepted, publication, isResumable)))
        )
      )
      yield* Effect.annotateCurrentSpan({ "message.id": message.id, "session.id": session.id })
      return { opening: { message, session }, events: publication.events }
    })

    /** Sends a message and waits for the whole reply. */
    const sendAndAwait = Effect.fn("Conversations.sendAndAwait")(function* (user: User, toSend: OutgoingMessage) {
      const { events, opening } = yield* send(user, toSend, { isResumable: false })
      const last = Option.getOrUndefined(yield* Stream.runLast(events))
      if (last?.type === "done") return { ...opening, reply: last.reply }
      return yield* new MessageUnanswered({
        reason: last?.type === "failed" ? last.reason : "the agent stopped answering"
      })
    })

    return { send, sendAndAwait }
  })
}) {}
