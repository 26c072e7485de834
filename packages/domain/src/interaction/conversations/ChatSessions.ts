import { DateTime, Effect, Option } from "effect"
import type { Agent } from "../../agents/Agent.ts"
import { AgentNotFound } from "../../agents/AgentErrors.ts"
import type { AgentId } from "../../shared/AgentId.ts"
import { Agents } from "../../agents/Agents.ts"
import { isUp } from "../../agents/AgentStatus.ts"
import { IdGenerator } from "../../ids/IdGenerator.ts"
import type { MessageOrigin } from "../../shared/Channel.ts"
import type { UserId } from "../../shared/UserId.ts"
import { type ChatSession, ChatSessionId } from "../Conversation.ts"
import { ChatSessionLimitReached, ChatSessionNotFound, RunningAgentNotFound } from "../ConversationErrors.ts"
import { ConversationRepository } from "./ConversationRepository.ts"
import { withExportedSpan } from "../../shared/SpanExport.ts"

/** Maximum conversations of a user. */
const maximumSessions = 10_000

/** A session whose id is derived from its subject. */
interface NamedSession {
  readonly id: ChatSessionId
  readonly agentId: AgentId
  readonly platform: MessageOrigin
}

/** Finds or creates the conversation of a message. */
export class ChatSessions extends Effect.Service<ChatSessions>()("@berth/ChatSessions", {
  effect: Effect.gen(function* () {
    const repository = yield* ConversationRepository
    const agents = yield* Agents
    const ids = yield* IdGenerator

    const findRunningAgent = Effect.fnUntraced(function* (userId: UserId, agentId: AgentId | undefined) {
      if (agentId === undefined)
        return yield* Effect.mapError(yield* agents.findDefaultRunning(userId), () => new RunningAgentNotFound())
      const agent = yield* agents.find(userId, agentId)
      return isUp(agent.status) ? agent : yield* new RunningAgentNotFound()
    })

    const make = (id: ChatSessionId, userId: UserId, agent: Pick<Agent, "id">) =>
      Effect.map(DateTime.now, (now): ChatSession => ({
        id,
        userId,
        agentId: agent.id,
        title: null,
        status: "active",
        messageCount: 0,
        createdAt: now,
        lastActivity: now
      }))

    const insert = Effect.fnUntraced(function* (userId: UserId, agent: Pick<Agent, "id">) {
      const session = yield* make(ChatSessionId.make(yield* ids.next("chs")), userId, agent)
      return (yield* repository.insertSession(session, maximumSessions))
        ? session
        : yield* new ChatSessionLimitReached({ limit: maximumSessions })
    })

    const create = Effect.fn("ChatSessions.create")(function* (userId: UserId, agentId: AgentId | undefined) {
      return yield* insert(userId, yield* findRunningAgent(userId, agentId))
    })

    /** Returns the session with this id, and an effect that creates a new one. The agent must be running. */
    const prepare = Effect.fn("ChatSessions.prepare")(function* (
      userId: UserId,
      { agentId, id, platform }: NamedSession
    ) {
      const agent = yield* findRunningAgent(userId, agentId)
      const found = yield* repository.findSession(userId, id)
      if (Option.isSome(found)) return { session: found.value, isNew: false, create: Effect.void }
      const session = yield* make(id, userId, agent)
      return { session, isNew: true, create: Effect.asVoid(repository.insertSession(session, undefined, platform)) }
    })

    /**
     * Returns the session with this id for a messaging channel or a schedule; creates it if absent. The agent must be
     * running.
     */
    const ensure = Effect.fn("ChatSessions.ensure")(function* (
      userId: UserId,
      {
        fromOwner = false,
        ...named
      }: NamedSession & {
        /** Whether the owner is the author of the messages. */
        readonly fromOwner?: boolean | undefined
      }
    ) {
      const { create, isNew, session: known } = yield* prepare(userId, named)
      yield* create
      // A concurrent first message may have created it.
      const stored = isNew ? yield* repository.findSession(userId, named.id) : Option.some(known)
      const session = yield* Effect.mapError(stored, () => new ChatSessionNotFound())
      if (fromOwner) yield* repository.markFromOwner(named.id)
      return session
    })

    /**
     * Returns the named session, else the most recent session with the named agent, else with the oldest running agent.
     */
    const resolve = Effect.fnUntraced(function* (
      userId: UserId,
      { agentId, sessionId }: { readonly sessionId?: ChatSessionId | undefined; readonly agentId?: AgentId | undefined }
    ) {
      if (sessionId !== undefined) {
        const found = yield* Effect.mapError(
          yield* repository.findSessionWithAgent(userId, sessionId),
          () => new ChatSessionNotFound()
        )
        if (agentId !== undefined && agentId !== found.session.agentId) return yield* new ChatSessionNotFound()
        const status = yield* Effect.mapError(found.agentStatus, () => new AgentNotFound())
        return isUp(status) ? found.session : yield* new RunningAgentNotFound()
      }
      const id = agentId ?? (yield* findRunningAgent(userId, undefined)).id
      const { agentStatus, session } = yield* Effect.mapError(
        yield* repository.findActiveSession(userId, id),
        () => new AgentNotFound()
      )
      if (!isUp(agentStatus)) return yield* new RunningAgentNotFound()
      return yield* Option.match(session, { onNone: () => insert(userId, { id }), onSome: Effect.succeed })
    }, withExportedSpan("ChatSessions.resolve"))

    return { create, prepare, ensure, resolve }
  })
}) {}
