import { DateTime, Effect, Option } from "effect"
import { Agents } from "../../agents/Agents.ts"
import { Transaction } from "../../persistence/Transaction.ts"
import type { ChatSessionId, MessageId } from "../Conversation.ts"
import { ChatSessionNotFound } from "../ConversationErrors.ts"
import { ConversationRepository } from "./ConversationRepository.ts"
import { Memories } from "../memory/Memories.ts"
import type { AgentId } from "../../shared/AgentId.ts"
import type { UserId } from "../../shared/UserId.ts"

/** A page of a session's record: so many messages before that one; the newest when absent. */
export interface RecordPage {
  readonly before?: MessageId | undefined
  readonly limit?: number | undefined
}

/** Messages of a session that are shown at a time, unless fewer are asked for. */
const recordLength = 300
const memoryLength = 10

/** What was said: conversations and messages as they are kept, and how to be rid of them. */
export class ConversationRecords extends Effect.Service<ConversationRecords>()("@berth/ConversationRecords", {
  effect: Effect.gen(function* () {
    const repository = yield* ConversationRepository
    const agents = yield* Agents
    const memories = yield* Memories
    const transaction = yield* Transaction

    /** Last used first. */
    const listSessions = Effect.fn("ConversationRecords.listSessions")(function* (userId: UserId) {
      return yield* repository.listSessions(userId, 100)
    })

    const findSession = Effect.fn("ConversationRecords.findSession")(function* (
      userId: UserId,
      id: ChatSessionId,
      { before, limit = recordLength }: RecordPage = {}
    ) {
      const found = yield* Effect.mapError(yield* repository.findSession(userId, id), () => new ChatSessionNotFound())
      return { findSession: found, messages: yield* repository.readRecord(id, limit, before) }
    })

    /** The last messages of the session that was used last; none when there is no session. */
    const readRecent = Effect.fn("ConversationRecords.readRecent")(function* (
      userId: UserId,
      agentId: AgentId | undefined
    ) {
      if (agentId !== undefined) yield* agents.find(userId, agentId)
      const [active] = (yield* repository.listSessions(userId, 100)).filter(
        (candidate) => agentId === undefined || candidate.agentId === agentId
      )
      return active === undefined ? [] : yield* repository.readRecord(active.id, memoryLength)
    })

    /** When the user's conversations with an agent were last used. */
    const findLastActivity = Effect.fn("ConversationRecords.findLastActivity")(function* (
      userId: UserId,
      agentId: AgentId
    ) {
      return Option.map(yield* repository.findActiveSession(userId, agentId), (active) => active.lastActivity)
    })

    /** An agent's messages over all conversations, newest first. */
    const listAgentMessages = Effect.fn("ConversationRecords.listAgentMessages")(function* (
      agentId: AgentId,
      page: { readonly limit: number; readonly offset: number }
    ) {
      return yield* repository.listByAgent(agentId, page)
    })

    /** How an agent has done so far; `recent` counts the last hour. */
    const findAgentFigures = Effect.fn("ConversationRecords.findAgentFigures")(function* (agentId: AgentId) {
      return yield* repository.findAgentFigures(agentId, DateTime.subtract(yield* DateTime.now, { hours: 1 }))
    })

    /** Forgets every conversation of the user, and what his agents noted; answers how many conversations. */
    const removeAll = Effect.fn("ConversationRecords.removeAll")(function* (userId: UserId) {
      return yield* transaction.run(Effect.zipRight(memories.removeAll(userId), repository.removeSessions(userId)))
    })

    /** All the user's messages, newest first, and how many there are. */
    const listHistory = Effect.fn("ConversationRecords.listHistory")(function* (userId: UserId, limit: number) {
      return yield* Effect.all({
        messages: repository.listByUser(userId, limit),
        count: repository.countByUser(userId)
      })
    })

    return {
      listSessions,
      findSession,
      readRecent,
      findLastActivity,
      listAgentMessages,
      findAgentFigures,
      listHistory,
      removeAll
    }
  })
}) {}
