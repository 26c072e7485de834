import { WebApi } from "@berth/api/WebApi"
import { ChannelInbox } from "@berth/domain/channels/ChannelInbox"
import type { AgentId } from "@berth/domain/shared/AgentId"
import type { MessagingPlatform } from "@berth/domain/shared/Channel"
import { type HttpServerRequest, HttpServerResponse } from "@effect/platform"
import { Effect } from "effect"
import { group } from "../http/ApiGroup.ts"

export const layer = group(WebApi, "channelWebhooks", (handlers) =>
  Effect.map(ChannelInbox, (inbox) => {
    const receive = Effect.fnUntraced(function* (
      platform: MessagingPlatform,
      { agentId, request }: { readonly agentId: AgentId; readonly request: HttpServerRequest.HttpServerRequest }
    ) {
      const response = yield* inbox.receiveWebhook(
        { agentId, platform },
        {
          headers: request.headers,
          // The pipeline has read the whole body.
          body: new Uint8Array(yield* Effect.orDie(request.arrayBuffer))
        }
      )
      return response === undefined
        ? { received: true as const }
        : HttpServerResponse.text(response.body, { contentType: response.contentType })
    })

    return handlers
      .handleRaw("platformA", ({ path: { agentId }, request }) => receive("platformA", { agentId, request }))
      .handleRaw("platformB", ({ path: { agentId }, request }) => receive("platformB", { agentId, request }))
      .handle("platformBHandshake", ({ path: { agentId }, request }) =>
        inbox.answerHandshake({ agentId, platform: "platformB" }, new URL(request.url, "http://localhost").searchParams)
      )
      .handleRaw("platformC", ({ path: { agentId }, request }) => receive("platformC", { agentId, request }))
  })
)
