import { Context, type DateTime, type Duration, type Effect, type Option } from "effect"
import type { ChatSessionId } from "../interaction/Conversation.ts"
import type { AgentId } from "../shared/AgentId.ts"
import type { UserId } from "../shared/UserId.ts"
import type { ChannelKey } from "./ChannelConnection.ts"
import type {
  ChatKey,
  InboundId,
  InboundMessage,
  OutboundId,
  OutboundMessage,
  ReceivedMessage
} from "./ChannelMessage.ts"

export interface FloodLimits {
  readonly chat: number
  readonly agent: number
  /** Maximum consecutive messages of bots without one of a person. */
  readonly bots: number
}

/** `stored`: pending. `updated`: an edit of a pending message. `flooded` and `looping` messages are dropped. */
export type Reception = "stored" | "updated" | "known" | "flooded" | "looping"

/** A claimed chat. Writes under a lost claim have no effect. */
interface ClaimedChat {
  readonly claimId: string
  readonly sessionId: ChatSessionId | null
  /** Whether the owner of the agent writes in the chat. */
  readonly isOfOwner: boolean
}

export type ChatWork =
  | { readonly _tag: "Send"; readonly message: OutboundMessage }
  | { readonly _tag: "Answer"; readonly message: InboundMessage }

/** Stores the chats of connections: received messages and messages to send. */
export class Chats extends Context.Tag("@berth/Chats")<
  Chats,
  {
    /** Stores a message unless it is known; serialized per chat. Joins the running transaction. */
    readonly receive: (key: ChannelKey, message: ReceivedMessage, limits: FloodLimits) => Effect.Effect<Reception>
    /** Appends a message to send. Joins the running transaction. */
    readonly enqueue: (chat: ChatKey, text: string) => Effect.Effect<void>
    /** Marks the chat in which the agent's claim code is sent. Joins the running transaction. */
    readonly expectOwner: (chat: ChatKey) => Effect.Effect<void>
    /** Assigns the marked chats of the agent to its owner. Joins the running transaction. */
    readonly verifyOwner: (agentId: AgentId) => Effect.Effect<void>
    /** Claims a chat; none if another worker holds it, or sending is postponed. */
    readonly claim: (chat: ChatKey) => Effect.Effect<Option.Option<ClaimedChat>>
    /** Extends the lease; false if it is lost. */
    readonly renew: (chat: ChatKey, claimId: string) => Effect.Effect<boolean>
    readonly release: (chat: ChatKey, claimId: string) => Effect.Effect<void>
    /** Returns the next message to send, else the next message to answer. */
    readonly findWork: (chat: ChatKey) => Effect.Effect<Option.Option<ChatWork>>
    /** Whether there is work that is due now. */
    readonly hasWork: (chat: ChatKey) => Effect.Effect<boolean>
    /** Postpones all work of the chat until the pause ends. */
    readonly pause: (chat: ChatKey, pause: Duration.Duration) => Effect.Effect<void>
    /** Repeats the message after the pause; `unbegun`: as a new turn. */
    readonly repeatLater: (
      message: InboundMessage,
      pause: Duration.Duration,
      why: "busy" | "unbegun"
    ) => Effect.Effect<void>
    /** Stored transcripts of a pending message, by file. */
    readonly findTranscripts: (id: InboundId) => Effect.Effect<ReadonlyMap<string, string>>
    readonly storeTranscript: (id: InboundId, file: string, text: string) => Effect.Effect<void>
    readonly setSession: (chat: ChatKey, sessionId: ChatSessionId | null) => Effect.Effect<void>
    /** Completes a received message and appends its reply. False if the claim is lost. */
    readonly answer: (
      message: InboundMessage,
      claimId: string,
      outcome: {
        readonly status: "answered" | "refused" | "ignored"
        readonly reply?: { readonly text: string; readonly replyTo: string | null } | undefined
      }
    ) => Effect.Effect<boolean>
    /**
     * Records the beginning of a part's delivery; false if the claim is lost. A part begun earlier counts as a possible
     * duplicate.
     */
    readonly beginPart: (
      message: OutboundMessage,
      claimId: string,
      part: number
    ) => Effect.Effect<"begun" | "repeated" | "lost">
    /** Records the platform's id of a sent part; `isLast` completes the message. */
    readonly completePart: (
      id: OutboundId,
      part: number,
      sent: { readonly externalId: string; readonly isLast: boolean }
    ) => Effect.Effect<void>
    /** Repeats the part after the pause, before any other message of the chat. */
    readonly postpone: (
      message: OutboundMessage,
      pause: Duration.Duration,
      options: { readonly mayHaveArrived: boolean }
    ) => Effect.Effect<void>
    /** Ends a message that the platform rejects. A greeting is deferred to the next message of its chat. */
    readonly fail: (id: OutboundId, reason: string) => Effect.Effect<void>
    /** True at most once per `interval` and chat. */
    readonly mayNotify: (chat: ChatKey, interval: Duration.Duration) => Effect.Effect<boolean>
    /** Unclaimed chats with work, oldest first. */
    readonly listStranded: (
      limit: number
    ) => Effect.Effect<ReadonlyArray<{ readonly chat: ChatKey; readonly ownerId: UserId }>>
    /**
     * Deletes messages that ended before `messages`, and unused chats of others last active before `chats`; returns the
     * number of rows.
     */
    readonly prune: (before: { readonly messages: DateTime.Utc; readonly chats: DateTime.Utc }) => Effect.Effect<number>
  }
>() {}
