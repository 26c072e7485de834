import { Context, type DateTime, type Effect, type Option } from "effect"
import type { ChatSessionId, Message } from "../Conversation.ts"
import type { MemoryNote, Recollection, RecalledMessage } from "./Recollection.ts"
import type { ConversationSummary } from "./ConversationSummary.ts"
import type { AgentId } from "../../shared/AgentId.ts"
import type { UserId } from "../../shared/UserId.ts"

/** An agent and its owner. Nothing of another agent, or of another owner, is ever read or written. */
export interface MemoryOwner {
  readonly agentId: AgentId
  readonly userId: UserId
}

export interface NewNote extends MemoryOwner {
  readonly id: string
  readonly text: string
  readonly at: DateTime.Utc
}

/** What agents remember besides the record of a conversation: notes, summaries, and what a search in the record finds. */
export class MemoryRepository extends Context.Tag("@berth/MemoryRepository")<
  MemoryRepository,
  {
    /**
     * Keeps a note. A text that is there already counts as told again and stays one note; of more than `limit` the oldest
     * go, exactly, also when notes come at once. Does nothing when the user has no such agent.
     */
    readonly saveNote: (note: NewNote, limit: number) => Effect.Effect<void>
    /**
     * Notes of the agent and answered messages of its conversations that have words of the query, best match first. The query
     * is plain words of any language, and means any of them.
     */
    readonly search: (of: MemoryOwner, query: string, limit: number) => Effect.Effect<ReadonlyArray<Recollection>>
    /**
     * What there is to tell an agent of before it answers a message: its session's summary, the agent's newest notes, and
     * what was said in its other sessions that has words of the message which mean something, best match first.
     */
    readonly recallForTurn: (
      message: Pick<Message, "agentId" | "userId" | "sessionId" | "content">,
      limits: { readonly notes: number; readonly said: number }
    ) => Effect.Effect<{
      readonly summary: Option.Option<ConversationSummary>
      readonly notes: ReadonlyArray<MemoryNote>
      readonly said: ReadonlyArray<RecalledMessage>
    }>
    /** Keeps a session's summary, unless one is kept that reaches as far. Does nothing when the session is gone. */
    readonly saveSummary: (sessionId: ChatSessionId, summary: ConversationSummary) => Effect.Effect<void>
    /** Deletes all notes of the user's agents; summaries go with their sessions. */
    readonly removeNotes: (userId: UserId) => Effect.Effect<void>
  }
>() {}
