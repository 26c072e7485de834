import { DateTime, Effect, Option } from "effect"
import { IdGenerator } from "../../ids/IdGenerator.ts"
import type { Message } from "../Conversation.ts"
import { MemoryRepository, type MemoryOwner } from "./MemoryRepository.ts"
import { deduplicateRecollections, selectMemories, formatRecollection } from "./Recollection.ts"
import { validateSummary } from "./ConversationSummary.ts"
import type { UserId } from "../../shared/UserId.ts"

/** Notes that an agent keeps at most; the oldest go. */
const notesLimit = 500
/** Notes that a turn begins with, the newest ones. */
const notesOfTurn = 20
/** What a turn begins with of other conversations. */
const saidOfTurn = 5
/** What a search finds at most. */
const searchLimit = 10
/** The same is often said more than once; this many times as much is looked at, so that enough is left. */
const spare = 3

/** What is asked of an agent, and where: a message, or what stands in for one. */
type Asked = Pick<Message, "agentId" | "userId" | "sessionId" | "content">

/**
 * What an agent remembers across its conversations with its owner: notes it keeps itself, what was said, and the summaries
 * that stand for the older part of long conversations. Every agent remembers without asking, by what its turns begin with.
 */
export class Memories extends Effect.Service<Memories>()("@berth/Memories", {
  effect: Effect.gen(function* () {
    const repository = yield* MemoryRepository
    const ids = yield* IdGenerator

    /** Keeps a note of the owner's agent. */
    const addNote = Effect.fn("Memories.addNote")(function* (of: MemoryOwner, text: string) {
      yield* repository.saveNote(
        { agentId: of.agentId, userId: of.userId, id: yield* ids.next("nte"), text, at: yield* DateTime.now },
        notesLimit
      )
    })

    /** What the agent's notes and its conversations with its owner say to a question, best match first. */
    const search = Effect.fn("Memories.search")(function* (of: MemoryOwner, query: string) {
      const found = deduplicateRecollections(yield* repository.search(of, query, searchLimit * spare)).slice(
        0,
        searchLimit
      )
      return found.map((recollection) => ({
        kind: recollection.kind,
        text: formatRecollection(recollection, query),
        at: recollection.at
      }))
    })

    /** What the turn of a message begins with: the summary that stands for its session up to `afterSeq`, and memories from elsewhere. */
    const recallForTurn = Effect.fn("Memories.recallForTurn")(function* (message: Asked) {
      const { notes, said, summary } = yield* repository.recallForTurn(message, {
        notes: notesOfTurn,
        said: saidOfTurn * spare
      })
      return {
        summary: Option.getOrNull(Option.map(summary, ({ text }) => text)),
        afterSeq: Option.match(summary, { onNone: () => 0, onSome: ({ upToSeq }) => upToSeq }),
        memories: selectMemories(notes, deduplicateRecollections(said).slice(0, saidOfTurn), message.content)
      }
    })

    /**
     * Keeps the summary that a cell made in the turn of a message. Told twice, late or out of order does no harm. The turn
     * goes on when it cannot be kept: the cell makes it again next time.
     */
    const storeSummary = Effect.fn("Memories.storeSummary")(function* (
      message: Message,
      offered: { readonly summary: string; readonly upToSeq: number }
    ) {
      const { id: messageId, sessionId } = message
      yield* Option.match(validateSummary(message, offered), {
        onNone: () => Effect.logWarning("A summary that stands for nothing was not kept"),
        onSome: (summary) => repository.saveSummary(sessionId, summary)
      }).pipe(
        Effect.catchAllDefect((defect) => Effect.logError("A summary was not kept", defect)),
        Effect.annotateLogs({ messageId, sessionId })
      )
    })

    /** Forgets every note of the user's agents. */
    const removeAll = Effect.fn("Memories.removeAll")(function* (userId: UserId) {
      yield* repository.removeNotes(userId)
    })

    return { addNote, search, recallForTurn, storeSummary, removeAll }
  })
}) {}
