import { LogsUnavailable } from "@berth/api/agents/AgentErrorBodies"
import { makeLiveStats, makeMockStats } from "@berth/api/interaction/AgentStats"
import { OwnedAgent } from "@berth/api/agents/OwnedAgent"
import { WebApi } from "@berth/api/WebApi"
import { AgentConfiguration } from "@berth/domain/agents/AgentConfiguration"
import { isUp } from "@berth/domain/agents/AgentStatus"
import { Instances } from "@berth/domain/instances/Instances"
import type { Message } from "@berth/domain/interaction/Conversation"
import { ConversationRecords } from "@berth/domain/interaction/conversations/ConversationRecords"
import { RateLimiter } from "@berth/domain/limits/RateLimiter"
import { DateTime, Effect, Either } from "effect"
import type { UserId } from "@berth/domain/shared/UserId"
import { group } from "../http/ApiGroup.ts"
import { addRetryAfter } from "../http/ResponseHeaders.ts"

const agentMessageOf = ({ agentId, content, createdAt, id, platform, sender }: Message) => ({
  id,
  agentId,
  sender,
  content,
  timestamp: createdAt,
  platform
})

export const layer = group(WebApi, "agentRecords", (handlers) =>
  Effect.gen(function* () {
    const records = yield* ConversationRecords
    const configuration = yield* AgentConfiguration
    const instances = yield* Instances
    const limiter = yield* RateLimiter

    /** Returns the start time of the owner's instance, from its row. */
    const upSince = (ownerId: UserId) =>
      instances.find(ownerId).pipe(
        Effect.map(({ startedAt, status }) => (isUp(status) ? startedAt : null)),
        Effect.orElseSucceed(() => null)
      )

    return handlers
      .handle("messages", ({ urlParams: { limit, offset } }) =>
        Effect.gen(function* () {
          const { agent } = yield* OwnedAgent
          const { messages, total } = yield* records.listAgentMessages(agent.id, { limit, offset })
          return { messages: messages.map(agentMessageOf), total, limit, offset, status: "ok" as const }
        })
      )
      .handle("logs", ({ urlParams: { level, limit } }) =>
        Effect.gen(function* () {
          const { agent } = yield* OwnedAgent
          yield* Effect.tapError(limiter.take("logs", agent.ownerId), addRetryAfter)
          const { entries, total } = yield* instances
            .logs(agent.ownerId, { agentId: agent.id, level, limit })
            .pipe(Effect.mapError(({ reason }) => new LogsUnavailable({ reason })))
          const logs = entries.map((entry) => ({ ...entry, agentId: entry.agentId ?? agent.id }))
          return { logs, total, limit, status: "ok" as const }
        })
      )
      .handle("stats", () =>
        Effect.gen(function* () {
          const { agent } = yield* OwnedAgent
          const figures = yield* records.findAgentFigures(agent.id)
          const live = yield* Effect.either(instances.stats(agent.ownerId))
          const now = yield* DateTime.now
          return Either.isRight(live)
            ? { stats: makeLiveStats(agent, live.right, figures, now), status: "ok" as const }
            : { stats: makeMockStats(agent, yield* upSince(agent.ownerId), figures, now), status: "mock" as const }
        })
      )
      .handle("remove", () =>
        Effect.gen(function* () {
          const { agent } = yield* OwnedAgent
          yield* configuration.remove(agent)
          return { success: true }
        })
      )
  })
)
