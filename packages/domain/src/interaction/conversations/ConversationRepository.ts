import { Context, type DateTime, type Effect, type Option } from "effect"
import type { AnsweringModel } from "../../ai/models/AnsweringModel.ts"
import type { MessageOrigin } from "../../shared/Channel.ts"
import type { ReservationTerms } from "../../billing/units/UnitLedger.ts"
import type { UserId } from "../../shared/UserId.ts"
import type { AgentStatus } from "../../agents/AgentStatus.ts"
import type { AgentId } from "../../shared/AgentId.ts"
import type {
  AnswerCost,
  ChatSession,
  ChatSessionId,
  Message,
  MessageFigures,
  MessageId,
  MessageState
} from "../Conversation.ts"
import type { Attachment } from "../attachments/Attachment.ts"
import type { ChatSessionNotFound, PendingMessageLimitReached } from "../ConversationErrors.ts"
import type { ToolActivity } from "../../skills/tools/ToolActivity.ts"
import type { Units, UsdMicros } from "../../shared/Money.ts"
import type { TurnPayment } from "../turns/TurnPayment.ts"

export interface NewMessage {
  readonly id: MessageId
  readonly sessionId: ChatSessionId
  readonly content: string
  readonly topic: string | null
  readonly platform: string
  readonly attachments?: ReadonlyArray<Attachment> | undefined
  /** A failed message without a model call, which this one repeats. It is deleted. */
  readonly repeats?: MessageId | undefined
}

export interface NewReply {
  readonly id: MessageId
  readonly content: string
  readonly deltaCount?: number | undefined
  readonly answeredBy?: AnsweringModel | undefined
  readonly cost?: AnswerCost | undefined
  readonly isStopped?: boolean | undefined
  readonly toolCalls?: ReadonlyArray<ToolActivity> | undefined
}

/** The text of an answer that was cut off. */
export type PartialAnswer = Pick<NewReply, "id" | "content" | "toolCalls">

export interface MessageFailure {
  /** Absent when the answering process died. */
  readonly reason?: string | undefined
  readonly deltaCount?: number | undefined
  readonly callBegun: boolean
  readonly isStopped?: boolean | undefined
}

export interface NewTurn extends TurnPayment {
  readonly leaseUntil: DateTime.Utc
}

export type PaidTurn = Pick<NewTurn, "leaseUntil" | "unitLimit">

/** A price in units that holds for calls of at most this cost. */
export interface TurnPriceLimit {
  readonly units: Units
  readonly costLimit: UsdMicros
}

/** Limits of pending messages. */
export interface PendingLimits {
  readonly session: number
  readonly user: number
}

/** Stores conversations. */
export class ConversationRepository extends Context.Tag("@berth/ConversationRepository")<
  ConversationRepository,
  {
    /** Returns false when the user has `maximum` sessions on the web. */
    readonly insertSession: (session: ChatSession, maximum?: number, platform?: MessageOrigin) => Effect.Effect<boolean>
    /** The owner writes the messages of this conversation of a channel. */
    readonly markFromOwner: (id: ChatSessionId) => Effect.Effect<void>
    readonly findSession: (userId: UserId, id: ChatSessionId) => Effect.Effect<Option.Option<ChatSession>>
    /** The same with the status of its agent; none of the status when the agent is another owner's. */
    readonly findSessionWithAgent: (
      userId: UserId,
      id: ChatSessionId
    ) => Effect.Effect<
      Option.Option<{
        readonly session: ChatSession
        readonly agentStatus: Option.Option<AgentStatus>
      }>
    >
    /** The status of an agent and its session on the web used last; none for another owner's agent. */
    readonly findActiveSession: (
      userId: UserId,
      agentId: AgentId
    ) => Effect.Effect<
      Option.Option<{
        readonly session: Option.Option<ChatSession>
        readonly agentStatus: AgentStatus
      }>
    >
    /** Last used first, of all agents or of one; with `text`, those with it in the title or in recent messages. */
    readonly listSessions: (
      userId: UserId,
      limit: number,
      agentId?: AgentId,
      text?: string
    ) => Effect.Effect<ReadonlyArray<ChatSession>>
    /** Orders the new messages of a user until the transaction ends. Lock order: before every other lock. */
    readonly lockNewMessages: (userId: UserId) => Effect.Effect<void>
    /** Appends a `pending` message with the next `seq` and begins its turn. The limits are exact. */
    readonly appendUserMessage: (
      message: NewMessage,
      turn: NewTurn,
      limits?: PendingLimits
    ) => Effect.Effect<Message, ChatSessionNotFound | PendingMessageLimitReached>
    /**
     * The same for a message with a new id, the cause of its turn's reservation, in one statement. None, and nothing is changed,
     * when the day's units on the caller's plan do not suffice, a limit is reached or the session is gone. Lock order: new
     * messages, day, reservation, session.
     */
    readonly appendPaidMessage: (
      message: NewMessage,
      turn: PaidTurn,
      payment: ReservationTerms,
      limits?: PendingLimits
    ) => Effect.Effect<Option.Option<Message>>
    readonly findMessage: (userId: UserId, id: MessageId) => Effect.Effect<Option.Option<Message>>
    /** The reply to a message; none while it has none. */
    readonly findReply: (message: Message) => Effect.Effect<Option.Option<Message>>
    /** Whether no earlier message of the session is pending. */
    readonly isNext: (message: Message) => Effect.Effect<boolean>
    /** Stores the reply and marks the message answered; none when the message is no longer pending. */
    readonly storeReply: (message: Message, reply: NewReply) => Effect.Effect<Option.Option<Message>>
    /**
     * Ends the turn of a message at a known price: settles it and stores the reply in one statement. None, and nothing is
     * changed, when its calls cost more or were the owner's, or other units than the price are reserved. The inner none: the
     * message is no longer pending.
     */
    readonly completeTurn: (
      message: Message,
      reply: Omit<NewReply, "cost">,
      price: TurnPriceLimit
    ) => Effect.Effect<Option.Option<Option.Option<Message>>>
    /** False when the message is no longer pending. A partial answer becomes a failed reply, which is in the record and in no transcript. */
    readonly markFailed: (id: MessageId, failure?: MessageFailure, partial?: PartialAnswer) => Effect.Effect<boolean>
    /** The state of a message and its failure. No ownership check: an agent can change its owner while a turn runs. */
    readonly findOutcome: (
      id: MessageId
    ) => Effect.Effect<Option.Option<MessageFailure & { readonly state: MessageState }>>
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
    /** Null removes the title. None for an unknown session. */
    readonly renameSession: (
      userId: UserId,
      id: ChatSessionId,
      title: string | null
    ) => Effect.Effect<Option.Option<ChatSession>>
    /** Deletes a session with its messages and its summary, and returns the pending messages; none for an unknown session. */
    readonly removeSession: (
      userId: UserId,
      id: ChatSessionId
    ) => Effect.Effect<Option.Option<ReadonlyArray<MessageId>>>
    /** Gives the sessions and messages of an agent to another user. */
    readonly transfer: (agentId: AgentId, to: UserId) => Effect.Effect<void>
    /** Newest first. */
    readonly listByUser: (userId: UserId, limit: number) => Effect.Effect<ReadonlyArray<Message>>
    readonly countByUser: (userId: UserId) => Effect.Effect<number>
  }
>() {}
