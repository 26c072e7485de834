import { agentSocketDocumentPath, makeAgentSocketDocument } from "@berth/api/interaction/AgentSocketDocument"
import { HttpLayerRouter, HttpServerResponse } from "@effect/platform"
import { Duration, Effect } from "effect"
import { makePlainRoute } from "../http/RouteTable.ts"
import { SessionCookie } from "../http/SecretCookies.ts"
import { WebSettings } from "../http/WebSettings.ts"
import { SocketLimits } from "./SocketLimits.ts"

export const agentSocketDocumentRoutes = [makePlainRoute("GET", agentSocketDocumentPath)]

/** `/asyncapi.json`, with the addresses and limits of this service. */
export const layer = HttpLayerRouter.use((router) =>
  Effect.gen(function* () {
    const { agentsDomain, appUrl } = yield* WebSettings
    const { name: cookieName } = yield* SessionCookie
    const { answers, bufferedBytes, framesAhead, heartbeat, perUser } = yield* SocketLimits
    const limits = { answers, bufferedBytes, framesAhead, heartbeatSeconds: Duration.toSeconds(heartbeat), perUser }
    const document = makeAgentSocketDocument({ agentsDomain, appUrl, cookieName, limits })
    yield* router.add("GET", agentSocketDocumentPath, HttpServerResponse.unsafeJson(document))
  })
)
