import { OwnedAgent } from "@berth/api/agents/OwnedAgent"
import { WebApi } from "@berth/api/WebApi"
import { AgentConfiguration } from "@berth/domain/agents/AgentConfiguration"
import type { Message } from "@berth/domain/interaction/Conversation"
import { Conversations } from "@berth/domain/interaction/Conversations"
import { HttpApiBuilder } from "@effect/platform"
import { Effect } from "effect"

const agentMessageOf = ({ agentId, content, createdAt, id, platform, sender }: Message) => ({
  id,
  agentId,
  sender,
  content,
  timestamp: createdAt,
  platform
})

export const layer = HttpApiBuilder.group(WebApi, "agentRecords", (handlers) =>
  Effect.gen(function* () {
    const conversations = yield* Conversations
    const configuration = yield* AgentConfiguration

    return handlers
      .handle("messages", ({ urlParams: { limit, offset } }) =>
        Effect.gen(function* () {
          const { agent } = yield* OwnedAgent
          const { messages, total } = yield* conversations.messagesOf(agent.id, { limit, offset })
          return { messages: messages.map(agentMessageOf), total, limit, offset, status: "ok" as const }
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
