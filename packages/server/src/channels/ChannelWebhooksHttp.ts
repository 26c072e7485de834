import { WebApi } from "@berth/api/WebApi"
import { ChannelInbox } from "@berth/domain/channels/ChannelInbox"
import type { AgentId } from "@berth/domain/shared/AgentId"
import type { MessagingPlatform } from "@berth/domain/shared/Channel"
import { HttpApiBuilder, type HttpServerRequest, HttpServerResponse } from "@effect/platform"
import { Effect } from "effect"

export const layer = HttpApiBuilder.group(WebApi, "channelWebhooks", (handlers) =>
  Effect.map(ChannelInbox, (inbox) => {
    const receive = (
      method: "GET" | "POST",
      platform: MessagingPlatform,
      { agentId, request }: { readonly agentId: AgentId; readonly request: HttpServerRequest.HttpServerRequest }
    ) =>
      Effect.gen(function* () {
        const response = yield* inbox.receiveWebhook(
          { agentId, platform },
          {
            method,
            headers: request.headers,
            query: new URL(request.url, "http://localhost").searchParams,
            // The pipeline has read the whole body.
            body: new Uint8Array(yield* Effect.orDie(request.arrayBuffer))
          }
        )
        return response === undefined
          ? { received: true as const }
          : HttpServerResponse.text(response.body, { contentType: response.contentType })
      })

    return handlers.handleRaw("platformA", ({ path: { agentId }, request }) =>
      receive("POST", "platformA", { agentId, request })
    )
  })
)
