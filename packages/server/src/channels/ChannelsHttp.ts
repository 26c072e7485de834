import { OwnedAgent } from "@berth/api/agents/OwnedAgent"
import { WebApi } from "@berth/api/WebApi"
import type { Agent } from "@berth/domain/agents/Agent"
import { ChannelConfiguration, type ChannelView } from "@berth/domain/channels/ChannelConfiguration"
import { ChannelSettings, makeWebhookUrl } from "@berth/domain/channels/ChannelSettings"
import type { MessagingPlatform } from "@berth/domain/shared/Channel"
import { Effect } from "effect"
import { group } from "../http/ApiGroup.ts"

export const layer = group(WebApi, "channels", (handlers) =>
  Effect.gen(function* () {
    const configuration = yield* ChannelConfiguration
    const { appUrl } = yield* ChannelSettings

    const viewOf = ({ id }: Agent, views: ReadonlyArray<ChannelView>, platform: MessagingPlatform) => {
      const match = views.find((view) => view.platform === platform)
      const connection = match?.connection
      const { answersBots = false, bot = null, checkedAt = null, reason = null, transport = null } = connection ?? {}
      return {
        configured: connection !== undefined,
        enabled: match?.enabled ?? false,
        health: connection === undefined ? null : { state: connection.state, reason, checkedAt },
        bot: bot === null ? null : { id: bot.id, name: bot.name },
        transport,
        webhookUrl: transport === "webhook" ? makeWebhookUrl(appUrl, { agentId: id, platform }).href : null,
        answersBots
      }
    }

    const present = (agent: Agent, views: ReadonlyArray<ChannelView>) => ({
      platformA: viewOf(agent, views, "platformA"),
      platformB: viewOf(agent, views, "platformB"),
      platformC: viewOf(agent, views, "platformC")
    })

    return handlers
      .handle("read", () =>
        Effect.gen(function* () {
          const { agent, user } = yield* OwnedAgent
          return { channels: present(agent, yield* configuration.read(user, agent)), status: "ok" as const }
        })
      )
      .handle("change", ({ payload }) =>
        Effect.gen(function* () {
          const { agent, user } = yield* OwnedAgent
          const views = yield* configuration.change(user, agent, payload)
          return { channels: present(agent, views), status: "updated" as const }
        })
      )
  })
)
