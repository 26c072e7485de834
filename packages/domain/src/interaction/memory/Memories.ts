import { DateTime, Effect, Option } from "effect"
import { AgentNotFound } from "../../agents/AgentErrors.ts"
import { IdGenerator } from "../../ids/IdGenerator.ts"
import { NoteNotFound } from "../ConversationErrors.ts"
import type { ChatSessionId, Message } from "../Conversation.ts"
import { maximumHistoryMessages } from "../conversations/HistoryWindow.ts"
import { MemoryRepository, type MemoryOwner, originsOfOwner } from "./MemoryRepository.ts"
import { deduplicateRecollections, formatRecollection, makeExcerpt, NoteId, selectMemories } from "./Recollection.ts"
import { TurnNotInProgress } from "../turns/TurnErrors.ts"
import type { AgentTurn } from "../turns/TurnRepository.ts"
import { validateSummary } from "./ConversationSummary.ts"
import type { UserId } from "../../shared/UserId.ts"
import { withExportedSpan } from "../../shared/SpanExport.ts"

/** Maximum notes of an agent; the oldest are deleted first. */
export const maximumNotes = 500
/** Number of newest notes in a turn's context. */
const notesOfTurn = 20
/** Number of other conversations' messages in a turn's context. */
const messagesOfTurn = 5
const searchLimit = 10
/** Number of candidates read per result, since duplicates are removed. */
const candidateFactor = 3

/** A message, or the task of an agent. */
type Question = Pick<Message, "agentId" | "userId" | "sessionId" | "content"> &
  Partial<Pick<Message, "platform" | "seq">>

/** Memory of an agent across conversations with its owner: notes, earlier messages, and summaries. */
export class Memories extends Effect.Service<Memories>()("@berth/Memories", {
  effect: Effect.gen(function* () {
    const repository = yield* MemoryRepository
    const ids = yield* IdGenerator

    const addNote = Effect.fn("Memories.addNote")(function* (of: MemoryOwner, text: string) {
      const id = NoteId.make(yield* ids.next("nte"))
      const note = { agentId: of.agentId, userId: of.userId, id, text, at: yield* DateTime.now }
      return yield* Effect.mapError(yield* repository.saveNote(note, maximumNotes), () => new AgentNotFound())
    })

    const removeNote = Effect.fn("Memories.removeNote")(function* (of: MemoryOwner, id: NoteId) {
      if (!(yield* repository.removeNote(of, id))) return yield* new NoteNotFound()
    })

    const searchMatches = (of: MemoryOwner, query: string, within?: ChatSessionId) =>
      Effect.map(repository.search(of, query, searchLimit * candidateFactor, within), (matches) =>
        deduplicateRecollections(matches).slice(0, searchLimit)
      )

    /** Searches notes and all conversations, best match first. */
    const search = Effect.fn("Memories.search")(function* (of: MemoryOwner, query: string) {
      const matches = yield* searchMatches(of, query)
      return matches.map((match) => ({ ...match, text: makeExcerpt(match.text, query) }))
    })

    /** Requires a turn in progress in a conversation with the owner; excludes tasks and turns of messaging channels. */
    const requireOwnerTurn = Effect.fn("Memories.requireOwnerTurn")(function* (turn: AgentTurn) {
      const conversation = Option.getOrNull(yield* repository.findConversation(turn))
      if (conversation === null || !originsOfOwner.includes(conversation.platform))
        return yield* new TurnNotInProgress()
    })

    /**
     * Adds a note in a turn with the owner. Other people of a channel cannot add notes, since every turn of the owner
     * contains the notes.
     */
    const noteInTurn = Effect.fn("Memories.noteInTurn")(function* (turn: AgentTurn, text: string) {
      const conversation = yield* Effect.mapError(
        yield* repository.findConversation(turn),
        () => new TurnNotInProgress()
      )
      if (conversation !== null && !conversation.fromOwner) return yield* new TurnNotInProgress()
      yield* Effect.mapError(addNote(turn, text), () => new TurnNotInProgress())
    })

    /**
     * Searches notes and conversations, best match first. A turn of a messaging channel searches only the messages of
     * its conversation; an unknown or ended turn finds nothing.
     */
    const searchInTurn = Effect.fn("Memories.searchInTurn")(function* (turn: AgentTurn, query: string) {
      const conversation = yield* repository.findConversation(turn)
      if (Option.isNone(conversation)) return []
      const within =
        conversation.value === null || conversation.value.fromOwner ? undefined : conversation.value.sessionId
      const matches = yield* searchMatches(turn, query, within)
      return matches.map((match) => ({ kind: match.kind, text: formatRecollection(match, query), at: match.at }))
    })

    /**
     * Returns the context of a turn: the summary of its session, the messages after it, and, in turns of the owner
     * only, memories from other sessions.
     */
    const recallForTurn = Effect.fnUntraced(function* (message: Question) {
      const { history, notes, messages, summary, ...session } = yield* repository.recallForTurn(message, {
        notes: notesOfTurn,
        messages: messagesOfTurn * candidateFactor,
        history: maximumHistoryMessages
      })
      const fromOwner = Option.getOrElse(session.fromOwner, () => originsOfOwner.includes(message.platform ?? "web"))
      return {
        fromOwner,
        summary: Option.getOrNull(Option.map(summary, ({ text }) => text)),
        history,
        memories: fromOwner
          ? selectMemories(notes, deduplicateRecollections(messages).slice(0, messagesOfTurn), message.content)
          : []
      }
    }, withExportedSpan("Memories.recallForTurn"))

    /** Idempotent and monotonic. Best-effort: after a failure the runtime summarizes again. */
    const storeSummary = Effect.fn("Memories.storeSummary")(function* (
      message: Message,
      offered: { readonly summary: string; readonly upToSeq: number }
    ) {
      const { id: messageId, sessionId } = message
      yield* Option.match(validateSummary(message, offered), {
        onNone: () => Effect.logWarning("Empty conversation summary ignored"),
        onSome: (summary) => repository.saveSummary(sessionId, summary)
      }).pipe(
        Effect.catchAllDefect((defect) => Effect.logError("Conversation summary not stored", defect)),
        Effect.annotateLogs({ messageId, sessionId })
      )
    })

    const removeAll = Effect.fn("Memories.removeAll")(function* (userId: UserId) {
      yield* repository.removeNotes(userId)
    })

    return {
      listNotes: repository.listNotes,
      addNote,
      removeNote,
      search,
      requireOwnerTurn,
      noteInTurn,
      searchInTurn,
      recallForTurn,
      storeSummary,
      removeAll
    }
  })
}) {}
