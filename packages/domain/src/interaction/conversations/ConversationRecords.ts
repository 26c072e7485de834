import { DateTime, Effect, Option } from "effect"
import type { AgentId } from "../../shared/AgentId.ts"
import { Agents } from "../../agents/Agents.ts"
import { RateLimiter } from "../../limits/RateLimiter.ts"
import { Transaction } from "../../persistence/Transaction.ts"
import type { UserId } from "../../shared/UserId.ts"
import { type ChatSession, type ChatSessionId, maximumTitleLength, type MessageId } from "../Conversation.ts"
import { ChatSessionNotFound, TitleInvalid } from "../ConversationErrors.ts"
import { Memories } from "../memory/Memories.ts"
import type { MemoryOwner } from "../memory/MemoryRepository.ts"
import { recentMemoryLimits, toMemoryItem } from "../memory/RecentMemory.ts"
import { TurnStops } from "../turns/TurnStops.ts"
import { ConversationRepository } from "./ConversationRepository.ts"

/** A page of a session's messages: the newest `limit` before a message, or of all. */
interface RecordPage {
  readonly before?: MessageId | undefined
  readonly limit?: number | undefined
}

export type ListedSession = ChatSession & { readonly preview?: string }

const maximumListedSessions = 100
const previewLength = 100
const recordLength = 300
const historyLength = 100

/** Reads, renames and deletes stored conversations. */
export class ConversationRecords extends Effect.Service<ConversationRecords>()("@berth/ConversationRecords", {
  effect: Effect.gen(function* () {
    const repository = yield* ConversationRepository
    const agents = yield* Agents
    const memories = yield* Memories
    const transaction = yield* Transaction
    const stops = yield* TurnStops
    const limiter = yield* RateLimiter

    /**
     * Most recently used first, of all agents or of one; with a text, the sessions that contain it. Rate limited, since
     * a search reads thousands of messages. A preview is the beginning of the newest user message.
     */
    const listSessions = Effect.fn("ConversationRecords.listSessions")(function* (
      userId: UserId,
      agentId: AgentId | undefined,
      { include, search }: { readonly search?: string | undefined; readonly include?: "preview" | undefined }
    ) {
      const text = search?.trim() ?? ""
      if (text !== "") yield* limiter.take("search", userId)
      if (agentId !== undefined) yield* agents.find(userId, agentId)
      const listed = yield* repository.listSessions(
        userId,
        maximumListedSessions,
        agentId,
        text === "" ? undefined : text
      )
      if (include !== "preview") return listed
      const ids = listed.map(({ id }) => id)
      const previews = yield* repository.findPreviews(ids, previewLength)
      return listed.map((session): ListedSession => ({ ...session, preview: previews.get(session.id) ?? "" }))
    })

    const findSession = Effect.fn("ConversationRecords.findSession")(function* (
      userId: UserId,
      id: ChatSessionId,
      { before, limit = recordLength }: RecordPage = {}
    ) {
      const session = yield* Effect.mapError(yield* repository.findSession(userId, id), () => new ChatSessionNotFound())
      return { session, messages: yield* repository.readRecord(id, limit, before) }
    })

    /** Returns the last messages of the session that a message without one continues, truncated; none without a session. */
    const readRecent = Effect.fn("ConversationRecords.readRecent")(function* (
      userId: UserId,
      agentId: AgentId | undefined
    ) {
      const agent =
        agentId === undefined ? yield* agents.findDefault(userId) : Option.some(yield* agents.find(userId, agentId))
      if (Option.isNone(agent)) return []
      const found = yield* repository.findActiveSession(userId, agent.value.id)
      const active = Option.flatMap(found, ({ session }) => session)
      if (Option.isNone(active)) return []
      return (yield* repository.readRecord(active.value.id, recentMemoryLimits.messages)).map(toMemoryItem)
    })

    /** Rate limited together with searches of sessions. */
    const searchMemory = Effect.fn("ConversationRecords.searchMemory")(function* (of: MemoryOwner, query: string) {
      yield* limiter.take("search", of.userId)
      return yield* memories.search(of, query)
    })

    const findLastActivity = Effect.fn("ConversationRecords.findLastActivity")(function* (
      userId: UserId,
      agentId: AgentId
    ) {
      const [active] = yield* repository.listSessions(userId, 1, agentId)
      return Option.map(Option.fromNullable(active), ({ lastActivity }) => lastActivity)
    })

    /** Lists an agent's messages over all sessions, newest first. */
    const listAgentMessages = Effect.fn("ConversationRecords.listAgentMessages")(
      (agentId: AgentId, page: { readonly limit: number; readonly offset: number }) =>
        repository.listByAgent(agentId, page)
    )

    /** `recent` counts the last hour. */
    const findAgentFigures = Effect.fn("ConversationRecords.findAgentFigures")(function* (agentId: AgentId) {
      return yield* repository.findAgentFigures(agentId, DateTime.subtract(yield* DateTime.now, { hours: 1 }))
    })

    /** An empty title removes the stored one. */
    const rename = Effect.fn("ConversationRecords.rename")(function* (
      userId: UserId,
      id: ChatSessionId,
      text: string | undefined
    ) {
      const title = text?.trim() ?? ""
      if ([...title].length > maximumTitleLength)
        return yield* new TitleInvalid({ reason: `must have at most ${maximumTitleLength} characters` })
      const renamed = yield* repository.renameSession(userId, id, title === "" ? null : title)
      return yield* Effect.mapError(renamed, () => new ChatSessionNotFound())
    })

    /** Deletes a session with its messages and its summary, and stops its turns, which are charged for their usage. */
    const remove = Effect.fn("ConversationRecords.remove")(function* (userId: UserId, id: ChatSessionId) {
      const removed = yield* repository.removeSession(userId, id)
      yield* stops.request(yield* Effect.mapError(removed, () => new ChatSessionNotFound()))
    })

    /** Deletes the user's sessions and the notes of the user's agents; returns the number of sessions. */
    const removeAll = Effect.fn("ConversationRecords.removeAll")((userId: UserId) =>
      transaction.run(Effect.zipRight(memories.removeAll(userId), repository.removeSessions(userId)))
    )

    /** Lists the user's newest messages, with the count of all. */
    const listHistory = Effect.fn("ConversationRecords.listHistory")((userId: UserId) =>
      Effect.all({
        messages: repository.listByUser(userId, historyLength),
        count: repository.countByUser(userId)
      })
    )

    return {
      listSessions,
      findSession,
      readRecent,
      searchMemory,
      findLastActivity,
      listAgentMessages,
      findAgentFigures,
      listHistory,
      rename,
      remove,
      removeAll
    }
  })
}) {}
