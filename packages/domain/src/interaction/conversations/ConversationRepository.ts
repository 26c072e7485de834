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
  /** A failed message without a model call that this message replaces. It is deleted. */
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

/** The text of an interrupted answer. */
export type PartialAnswer = Pick<NewReply, "id" | "content" | "toolCalls">

export interface MessageFailure {
  /** Absent if the answering process died. */
  readonly reason?: string | undefined
  readonly deltaCount?: number | undefined
  readonly callBegun: boolean
  readonly isStopped?: boolean | undefined
}

export interface NewTurn extends TurnPayment {
  readonly leaseUntil: DateTime.Utc
}

export type PaidTurn = Pick<NewTurn, "leaseUntil" | "unitLimit">

/** A price in units for turns whose calls cost at most this amount. */
export interface TurnPriceLimit {
  readonly units: Units
  readonly costLimit: UsdMicros
}

export interface PendingLimits {
  readonly session: number
  readonly user: number
}

type AppendPaidMessage = (
  message: NewMessage,
  turn: PaidTurn,
  payment: ReservationTerms,
  limits?: PendingLimits
) => Effect.Effect<Option.Option<Message>>

/** Stores conversations. */
export class ConversationRepository extends Context.Tag("@berth/ConversationRepository")<
  ConversationRepository,
  {
    /** False if the user already has `maximum` sessions on the web. */
    readonly insertSession: (session: ChatSession, maximum?: number, platform?: MessageOrigin) => Effect.Effect<boolean>
    /** Marks a channel's conversation as written by the owner. */
    readonly markFromOwner: (id: ChatSessionId) => Effect.Effect<void>
    readonly findSession: (userId: UserId, id: ChatSessionId) => Effect.Effect<Option.Option<ChatSession>>
    /** As `findSession`, with the status of the agent; the status is none for another owner's agent. */
    readonly findSessionWithAgent: (
      userId: UserId,
      id: ChatSessionId
    ) => Effect.Effect<
      Option.Option<{
        readonly session: ChatSession
        readonly agentStatus: Option.Option<AgentStatus>
      }>
    >
    /** Returns an agent's status and its most recent session on the web; none for another owner's agent. */
    readonly findActiveSession: (
      userId: UserId,
      agentId: AgentId
    ) => Effect.Effect<
      Option.Option<{
        readonly session: Option.Option<ChatSession>
        readonly agentStatus: AgentStatus
      }>
    >
    /**
     * Most recently used first, of all agents or of one; with `text`, the sessions with it in the title or in recent
     * messages.
     */
    readonly listSessions: (
      userId: UserId,
      limit: number,
      agentId?: AgentId,
      text?: string
    ) => Effect.Effect<ReadonlyArray<ChatSession>>
    /** Returns the beginning of each session's newest user message, by session. */
    readonly findPreviews: (
      sessionIds: ReadonlyArray<ChatSessionId>,
      characters: number
    ) => Effect.Effect<ReadonlyMap<ChatSessionId, string>>
    /** Serializes the new messages of a user until the transaction ends. Lock order: before every other lock. */
    readonly lockNewMessages: (userId: UserId) => Effect.Effect<void>
    /** Appends a `pending` message with the next `seq` and begins its turn. The limits are exact. */
    readonly appendUserMessage: (
      message: NewMessage,
      turn: NewTurn,
      limits?: PendingLimits
    ) => Effect.Effect<Message, ChatSessionNotFound | PendingMessageLimitReached>
    /**
     * As `appendUserMessage`, for a message with a new id, which is the cause of its turn's reservation; one statement.
     * None, without any change, if the day's units on the caller's plan do not suffice, a limit is reached or the
     * session is deleted. Lock order: new messages, day, session.
     */
    readonly appendPaidMessage: AppendPaidMessage
    /** As `appendPaidMessage`, in a statement with concurrent messages. None also if it would wait for a lock. */
    readonly appendWithOthers: AppendPaidMessage
    readonly findMessage: (userId: UserId, id: MessageId) => Effect.Effect<Option.Option<Message>>
    readonly findReply: (message: Message) => Effect.Effect<Option.Option<Message>>
    /** Whether the session has no earlier pending message. */
    readonly isNext: (message: Message) => Effect.Effect<boolean>
    /** Stores the reply and marks the message as answered; none if the message is no longer pending. */
    readonly storeReply: (message: Message, reply: NewReply) => Effect.Effect<Option.Option<Message>>
    /**
     * Ends the turn of a message at a known price: settles it and stores the reply, in one statement for concurrent
     * turns. None, without any change, if its calls cost more or used the owner's keys, the reserved units differ from
     * the price or the message is no longer pending.
     */
    readonly completeTurn: (
      message: Message,
      reply: Omit<NewReply, "cost">,
      price: TurnPriceLimit
    ) => Effect.Effect<Option.Option<Message>>
    /**
     * False if the message is no longer pending. A partial answer becomes a failed reply, which is in the record but in
     * no transcript.
     */
    readonly markFailed: (id: MessageId, failure?: MessageFailure, partial?: PartialAnswer) => Effect.Effect<boolean>
    /**
     * Returns the state of a message and its failure. No ownership check: the agent's owner can change during a turn.
     */
    readonly findOutcome: (
      id: MessageId
    ) => Effect.Effect<Option.Option<MessageFailure & { readonly state: MessageState }>>
    /** Returns the newest `limit` messages before a message, including failed ones, oldest first. */
    readonly readRecord: (
      sessionId: ChatSessionId,
      limit: number,
      before?: MessageId
    ) => Effect.Effect<ReadonlyArray<Message>>
    /** Newest first, with the count of all matches. */
    readonly listByAgent: (
      agentId: AgentId,
      page: { readonly limit: number; readonly offset: number }
    ) => Effect.Effect<{ readonly messages: ReadonlyArray<Message>; readonly total: number }>
    /** `recent` counts messages after `since`. */
    readonly findAgentFigures: (agentId: AgentId, since: DateTime.Utc) => Effect.Effect<MessageFigures>
    /** Returns the number of deleted sessions; deletes their messages too. */
    readonly removeSessions: (userId: UserId) => Effect.Effect<number>
    /** Null removes the title. None for an unknown session. */
    readonly renameSession: (
      userId: UserId,
      id: ChatSessionId,
      title: string | null
    ) => Effect.Effect<Option.Option<ChatSession>>
    /**
     * Deletes a session with its messages and its summary, and returns its pending messages; none for an unknown
     * session.
     */
    readonly removeSession: (
      userId: UserId,
      id: ChatSessionId
    ) => Effect.Effect<Option.Option<ReadonlyArray<MessageId>>>
    /** Transfers the sessions and messages of an agent to another user. */
    readonly transfer: (agentId: AgentId, to: UserId) => Effect.Effect<void>
    /** Newest first. */
    readonly listByUser: (userId: UserId, limit: number) => Effect.Effect<ReadonlyArray<Message>>
    readonly countByUser: (userId: UserId) => Effect.Effect<number>
  }
>() {}
