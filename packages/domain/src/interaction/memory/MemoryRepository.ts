import { Context, type DateTime, type Effect, type Option } from "effect"
import type { ChatSessionId, HistoryMessage, Message } from "../Conversation.ts"
import type { AgentTurn } from "../turns/TurnRepository.ts"
import type { MemoryMatch, MemoryNote, NoteId, RecalledMessage, StoredNote } from "./Recollection.ts"
import type { ConversationSummary } from "./ConversationSummary.ts"
import type { AgentId } from "../../shared/AgentId.ts"
import type { UserId } from "../../shared/UserId.ts"

/** Every query is limited to this agent and owner. */
export interface MemoryOwner {
  readonly agentId: AgentId
  readonly userId: UserId
}

/** Origins with messages of the owner; people on a messaging channel are not the owner. */
export const originsOfOwner: ReadonlyArray<string> = ["web", "schedule"]

/** Conversation of a turn in progress; a task has none. */
interface TurnConversation {
  readonly sessionId: ChatSessionId
  readonly platform: string
  /** False for other people on a messaging channel. */
  readonly fromOwner: boolean
}

export interface NewNote extends MemoryOwner {
  readonly id: NoteId
  readonly text: string
  readonly at: DateTime.Utc
}

/** Stores notes and summaries, and searches conversations. */
export class MemoryRepository extends Context.Tag("@berth/MemoryRepository")<
  MemoryRepository,
  {
    /**
     * Stores a note; a repeated text renews the note. Deletes the oldest above `limit`, exact under concurrency. None
     * for unknown agents.
     */
    readonly saveNote: (note: NewNote, limit: number) => Effect.Effect<Option.Option<StoredNote>>
    /** Newest first. */
    readonly listNotes: (
      of: MemoryOwner,
      page: { readonly limit: number; readonly offset: number }
    ) => Effect.Effect<{ readonly notes: ReadonlyArray<StoredNote>; readonly total: number }>
    /** False if the agent has no note with this id. */
    readonly removeNote: (of: MemoryOwner, id: NoteId) => Effect.Effect<boolean>
    /**
     * Returns the conversation of a turn, null for a task. None for an unknown or ended turn, and for a deleted
     * conversation.
     */
    readonly findConversation: (turn: AgentTurn) => Effect.Effect<Option.Option<TurnConversation | null>>
    /**
     * Notes and answered messages with any word of the query, best match first; with `within`, only messages of that
     * session.
     */
    readonly search: (
      of: MemoryOwner,
      query: string,
      limit: number,
      within?: ChatSessionId
    ) => Effect.Effect<ReadonlyArray<MemoryMatch>>
    /**
     * Returns whether the session is the owner's, its summary, its newest messages between the summary and `seq`
     * without failed ones (oldest first), the agent's newest notes, and other sessions' messages with significant words
     * of the message (best match first). No history without `seq`.
     */
    readonly recallForTurn: (
      message: Pick<Message, "agentId" | "userId" | "sessionId" | "content"> & Partial<Pick<Message, "seq">>,
      limits: { readonly notes: number; readonly messages: number; readonly history: number }
    ) => Effect.Effect<{
      readonly history: ReadonlyArray<HistoryMessage>
      readonly fromOwner: Option.Option<boolean>
      readonly summary: Option.Option<ConversationSummary>
      readonly notes: ReadonlyArray<MemoryNote>
      readonly messages: ReadonlyArray<RecalledMessage>
    }>
    /** Monotonic: no effect for a summary that covers no more than the stored one, or for a deleted session. */
    readonly saveSummary: (sessionId: ChatSessionId, summary: ConversationSummary) => Effect.Effect<void>
    /** Summaries are deleted with their sessions. */
    readonly transferNotes: (agentId: AgentId, to: UserId) => Effect.Effect<void>
    readonly removeNotes: (userId: UserId) => Effect.Effect<void>
  }
>() {}
