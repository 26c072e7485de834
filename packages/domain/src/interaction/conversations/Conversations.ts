import { DateTime, Effect, FiberSet, Option, Stream } from "effect"
import type { AgentId } from "../../shared/AgentId.ts"
import { UnitLedger } from "../../billing/units/UnitLedger.ts"
import { IdGenerator } from "../../ids/IdGenerator.ts"
import { Transaction } from "../../persistence/Transaction.ts"
import type { User } from "../../shared/User.ts"
import { makeAnswerPublication } from "../answers/AnswerPublication.ts"
import { type ChatSession, type ChatSessionId, maximumMessageLength, MessageId } from "../Conversation.ts"
import { MessageInvalid, MessageUnanswered } from "../ConversationErrors.ts"
import { ChatSessions } from "./ChatSessions.ts"
import { ConversationRepository } from "./ConversationRepository.ts"
import { ConversationTurns, messageUnits, turnLease } from "./ConversationTurns.ts"

export interface OutgoingMessage {
  readonly message: string
  readonly sessionId?: ChatSessionId | undefined
  readonly agentId?: AgentId | undefined
  readonly topic?: string | undefined
}

/** Pending messages at a time. */
const pendingLimits = { session: 16, user: 64 }

/**
 * Sends messages to agents. The message row is the record of its turn; its unit is reserved with it and settled with the
 * reply. A turn goes on when its client disconnects.
 */
export class Conversations extends Effect.Service<Conversations>()("@berth/Conversations", {
  scoped: Effect.gen(function* () {
    const repository = yield* ConversationRepository
    const sessions = yield* ChatSessions
    const turns = yield* ConversationTurns
    const ledger = yield* UnitLedger
    const ids = yield* IdGenerator
    const transaction = yield* Transaction
    const running = yield* FiberSet.make<void>()

    /** Stores the message with its reservation, both or neither. */
    const accept = Effect.fnUntraced(function* (user: User, session: ChatSession, toSend: OutgoingMessage) {
      const id = MessageId.make(yield* ids.next("msg"))
      const leaseUntil = DateTime.addDuration(yield* DateTime.now, turnLease)
      return yield* transaction.run(
        Effect.gen(function* () {
          const reservation = yield* ledger.reserve(user, messageUnits, id)
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
      const { message } = yield* Effect.uninterruptible(
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
