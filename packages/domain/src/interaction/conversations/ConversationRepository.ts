import { Context, type DateTime, type Effect, type Option } from "effect"
import type { ReservationId } from "../../billing/units/UnitLedger.ts"
import type { ChatSession, ChatSessionId, Message, MessageFigures, MessageId } from "../Conversation.ts"
import type { ChatSessionNotFound, PendingMessageLimitReached } from "../ConversationErrors.ts"
import type { AgentId } from "../../shared/AgentId.ts"
import type { UserId } from "../../shared/UserId.ts"

export interface NewMessage {
  readonly id: MessageId
  readonly sessionId: ChatSessionId
  readonly content: string
  readonly topic: string | null
  readonly platform: string
}

/** A message's answer as it is kept. `ownKeys`: all model calls for it went by the user's own keys, and there were some. */
export interface StoredAnswer {
  readonly reply: Message
  readonly ownKeys: boolean
}

/** How many messages may wait for their answers at a time. */
export interface PendingLimits {
  readonly session: number
  readonly user: number
}

/** The record of conversations. A user's pending message is the turn itself: it holds a lease that its process renews while it works on it. */
export class ConversationRepository extends Context.Tag("@berth/ConversationRepository")<
  ConversationRepository,
  {
    /** False, and no session, when its user has `maximum` of them already. */
    readonly insertSession: (session: ChatSession, maximum?: number) => Effect.Effect<boolean>
    readonly findSession: (userId: UserId, id: ChatSessionId) => Effect.Effect<Option.Option<ChatSession>>
    /** The user's session with this agent that was used last. */
    readonly findActiveSession: (userId: UserId, agentId: AgentId) => Effect.Effect<Option.Option<ChatSession>>
    /** Last used first. */
    readonly listSessions: (userId: UserId, limit: number) => Effect.Effect<ReadonlyArray<ChatSession>>
    /**
     * Appends the user's message as `pending` with the session's next `seq` and a lease until `leaseUntil`. The limits are exact
     * when whatever comes before it in its transaction takes turns with every other message of the user, as a reservation does.
     */
    readonly appendUserMessage: (
      message: NewMessage,
      leaseUntil: DateTime.Utc,
      reservation: Option.Option<ReservationId>,
      limits?: PendingLimits
    ) => Effect.Effect<Message, ChatSessionNotFound | PendingMessageLimitReached>
    /** A message that the user has sent. */
    readonly findMessage: (userId: UserId, id: MessageId) => Effect.Effect<Option.Option<Message>>
    /** Whether every earlier message of the session has been answered or has failed. */
    readonly isNext: (message: Message) => Effect.Effect<boolean>
    readonly renewLease: (id: MessageId, leaseUntil: DateTime.Utc) => Effect.Effect<void>
    /**
     * Stores the reply and marks the message answered; none when the message is no longer pending (it was given up). `told`:
     * how many pieces the reply was told in, none when absent.
     */
    readonly storeReply: (
      message: Message,
      reply: { readonly id: MessageId; readonly content: string; readonly deltaCount?: number }
    ) => Effect.Effect<Option.Option<StoredAnswer>>
    /** pending to failed, with why and how many pieces there were before; false when it was not pending any more. */
    readonly markFailed: (
      id: MessageId,
      why?: { readonly reason: string; readonly deltaCount: number }
    ) => Effect.Effect<boolean>
    /** Pending messages whose lease has ended: their process is gone. Marks them failed and answers them with what they had reserved. */
    readonly failAbandoned: (
      now: DateTime.Utc
    ) => Effect.Effect<ReadonlyArray<{ readonly id: MessageId; readonly reservation: Option.Option<ReservationId> }>>
    /** What a model is given: messages of a session after `afterSeq` and before `beforeSeq` (all when absent), failed ones left out, the newest `limit`, oldest first. */
    readonly readTranscript: (
      sessionId: ChatSessionId,
      options: { readonly afterSeq?: number; readonly beforeSeq?: number; readonly limit: number }
    ) => Effect.Effect<ReadonlyArray<Message>>
    /** The record of a session, failed messages too, the newest `limit` of those before a message (all when absent), oldest first. */
    readonly readRecord: (
      sessionId: ChatSessionId,
      limit: number,
      before?: MessageId
    ) => Effect.Effect<ReadonlyArray<Message>>
    /** All messages of an agent over all sessions, newest first, and how many there are. */
    readonly listByAgent: (
      agentId: AgentId,
      page: { readonly limit: number; readonly offset: number }
    ) => Effect.Effect<{ readonly messages: ReadonlyArray<Message>; readonly total: number }>
    /** What became of the messages to an agent; `recent` are those of them that came after `since`. */
    readonly findAgentFigures: (agentId: AgentId, since: DateTime.Utc) => Effect.Effect<MessageFigures>
    /** Deletes the user's sessions with their messages; answers how many sessions. */
    readonly removeSessions: (userId: UserId) => Effect.Effect<number>
    /** All the user's messages over all sessions, newest first. */
    readonly listByUser: (userId: UserId, limit: number) => Effect.Effect<ReadonlyArray<Message>>
    readonly countByUser: (userId: UserId) => Effect.Effect<number>
  }
>() {}
