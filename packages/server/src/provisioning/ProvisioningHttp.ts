import { ProvisionedAnswer } from "@berth/api/provisioning/ProvisioningApi"
import { WebApi } from "@berth/api/WebApi"
import { AgentClaims } from "@berth/domain/provisioning/AgentClaims"
import { Principal } from "@berth/domain/sessions/Principal"
import { Effect, Schema } from "effect"
import { group } from "../http/ApiGroup.ts"
import { makeAgentWebSocketUrl } from "../agents/AgentUrls.ts"
import { WebSettings } from "../http/WebSettings.ts"
import { encodeRotatedStream } from "./AgentLiveStreamsHttp.ts"
import { makeProvisioningResponder } from "./ProvisioningResponse.ts"

const encode = Schema.encodeSync(ProvisionedAnswer)

export const layer = group(WebApi, "provisioning", (handlers) =>
  Effect.gen(function* () {
    const respond = yield* makeProvisioningResponder("web")
    const claims = yield* AgentClaims
    const { appUrl } = yield* WebSettings

    return handlers
      .handle("provision", ({ headers, payload }) =>
        respond(payload, headers["idempotency-key"], (provisioned) => encode(provisioned))
      )
      .handle("claim", ({ payload: { code } }) =>
        Effect.gen(function* () {
          const { user } = yield* Principal
          const { agent, liveStream, shared } = yield* claims.claim(user, code)
          const { createdAt, id, model, name, status } = agent
          const websocketUrl = makeAgentWebSocketUrl(id, appUrl)
          return {
            success: true,
            agent: { id, name, model, status, websocketUrl, createdAt },
            liveStream: encodeRotatedStream(liveStream),
            shared
          }
        })
      )
  })
)
