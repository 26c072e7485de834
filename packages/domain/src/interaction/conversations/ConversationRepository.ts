import { Context, type DateTime, type Effect, type Option } from "effect"
import type { UserId } from "../../shared/UserId.ts"
import type { AgentId } from "../../shared/AgentId.ts"
import type { ReservationId } from "../../billing/units/Reservation.ts"
import type { ChatSession, ChatSessionId, Message, MessageFigures, MessageId } from "../Conversation.ts"
import type { ChatSessionNotFound, PendingMessageLimitReached } from "../ConversationErrors.ts"

export interface NewMessage {
  readonly id: MessageId
  readonly sessionId: ChatSessionId
  readonly content: string
  readonly topic: string | null
  readonly platform: string
}

/** `ownKeys`: the turn called models, all of them by the user's own keys. */
export interface StoredAnswer {
  readonly reply: Message
  readonly ownKeys: boolean
}

/** Limits of pending messages. */
export interface PendingLimits {
  readonly session: number
  readonly user: number
}

/** Stores conversations. A pending message holds a lease that its process renews during the turn. */
export class ConversationRepository extends Context.Tag("@berth/ConversationRepository")<
  ConversationRepository,
  {
    /** Returns false when the user has `maximum` sessions. */
    readonly insertSession: (session: ChatSession, maximum?: number) => Effect.Effect<boolean>
    readonly findSession: (userId: UserId, id: ChatSessionId) => Effect.Effect<Option.Option<ChatSession>>
    /** The session used last. */
    readonly findActiveSession: (userId: UserId, agentId: AgentId) => Effect.Effect<Option.Option<ChatSession>>
    /** Last used first. */
    readonly listSessions: (userId: UserId, limit: number) => Effect.Effect<ReadonlyArray<ChatSession>>
    /**
     * Appends a `pending` message with the next `seq`. Limits are exact when the transaction serializes the user's
     * messages, as a reservation does.
     */
    readonly appendUserMessage: (
      message: NewMessage,
      leaseUntil: DateTime.Utc,
      reservation: Option.Option<ReservationId>,
      limits?: PendingLimits
    ) => Effect.Effect<Message, ChatSessionNotFound | PendingMessageLimitReached>
    readonly findMessage: (userId: UserId, id: MessageId) => Effect.Effect<Option.Option<Message>>
    /** Whether no earlier message of the session is pending. */
    readonly isNext: (message: Message) => Effect.Effect<boolean>
    readonly renewLease: (id: MessageId, leaseUntil: DateTime.Utc) => Effect.Effect<void>
    /** Stores the reply and marks the message answered; none when the message is no longer pending. */
    readonly storeReply: (
      message: Message,
      reply: { readonly id: MessageId; readonly content: string; readonly deltaCount?: number }
    ) => Effect.Effect<Option.Option<StoredAnswer>>
    /** None when the message is no longer pending. */
    readonly markFailed: (
      id: MessageId,
      why?: { readonly reason: string; readonly deltaCount: number }
    ) => Effect.Effect<Option.Option<{ readonly ownKeys: boolean }>>
    /** Marks pending messages with an expired lease failed and returns them. */
    readonly failAbandoned: (
      now: DateTime.Utc
    ) => Effect.Effect<ReadonlyArray<{ readonly id: MessageId; readonly reservation: Option.Option<ReservationId> }>>
    /** The newest `limit` messages between `afterSeq` and `beforeSeq` without failed ones, oldest first. */
    readonly readTranscript: (
      sessionId: ChatSessionId,
      options: { readonly afterSeq?: number; readonly beforeSeq?: number; readonly limit: number }
    ) => Effect.Effect<ReadonlyArray<Message>>
    /** The newest `limit` messages before a message, failed ones included, oldest first. */
    readonly readRecord: (
      sessionId: ChatSessionId,
      limit: number,
      before?: MessageId
    ) => Effect.Effect<ReadonlyArray<Message>>
    /** Newest first, with the count of all. */
    readonly listByAgent: (
      agentId: AgentId,
      page: { readonly limit: number; readonly offset: number }
    ) => Effect.Effect<{ readonly messages: ReadonlyArray<Message>; readonly total: number }>
    /** `recent` counts those after `since`. */
    readonly findAgentFigures: (agentId: AgentId, since: DateTime.Utc) => Effect.Effect<MessageFigures>
    /** Returns the number of deleted sessions; their messages go with them. */
    readonly removeSessions: (userId: UserId) => Effect.Effect<number>
    /** Newest first. */
    readonly listByUser: (userId: UserId, limit: number) => Effect.Effect<ReadonlyArray<Message>>
    readonly countByUser: (userId: UserId) => Effect.Effect<number>
  }
>() {}
