import { AgentIsUnknownBody } from "@berth/api/agents/AgentErrorBodies"
import { OriginIsForeign, OriginIsForeignBody } from "@berth/api/http/TransportErrors"
import { TooManySocketsBody, UpgradeIsRequired, UpgradeIsRequiredBody } from "@berth/api/interaction/AgentSocketFrames"
import { NotSignedInBody } from "@berth/api/sessions/SessionAuth"
import { AgentId } from "@berth/domain/agents/Agent"
import { Agents } from "@berth/domain/agents/Agents"
import { GatewayAccess } from "@berth/domain/instances/GatewayAccess"
import { NotSignedIn } from "@berth/domain/sessions/SessionErrors"
import { HttpLayerRouter, HttpRouter, HttpServerRequest, HttpServerResponse } from "@effect/platform"
import { Effect, Option } from "effect"
import { errorResponse } from "../http/ErrorResponse.ts"
import { isOwnOrigin } from "../http/OriginRule.ts"
import { plainRoute } from "../http/RouteTable.ts"
import { canAccept } from "../http/Upgrades.ts"
import { WebSettings } from "../http/WebSettings.ts"
import { RequestSession } from "../sessions/RequestSession.ts"
import type { SocketHolder } from "./AgentSocket.ts"
import { AgentSockets } from "./AgentSockets.ts"
import { bearerToken } from "./SocketCredentials.ts"

const path = "/agents/:id/ws"
export const agentSocketRoutes = [plainRoute("GET", path)]

/** RFC 9110 section 15.5.22 and RFC 6455 section 4.4. */
const handshakeHeaders = { connection: "Upgrade", upgrade: "websocket", "sec-websocket-version": "13" }

/** `/agents/:id/ws`, by session cookie or by the instance's gateway token. What is refused is refused before the handshake, as JSON. */
export const layer = HttpLayerRouter.use((router) =>
  Effect.gen(function* () {
    const { appUrl } = yield* WebSettings
    const session = yield* RequestSession
    const agents = yield* Agents
    const gateway = yield* GatewayAccess
    const sockets = yield* AgentSockets

    const holderOf = (request: HttpServerRequest.HttpServerRequest, id: AgentId) =>
      Option.match(bearerToken(request.headers["authorization"]), {
        onSome: (token) =>
          Effect.flatMap(
            gateway.open(id, token),
            Option.match({
              onNone: () => Effect.fail(new NotSignedIn()),
              onSome: ({ agent, mark, user }) =>
                Effect.succeed<SocketHolder>({ agent, user, proof: { by: "token", mark } })
            })
          ),
        onNone: () =>
          Effect.gen(function* () {
            const { sessionId, user } = yield* session.require
            const agent = yield* agents.find(user.id, id)
            return { agent, user, proof: { by: "session", id: sessionId } } satisfies SocketHolder
          })
      })

    const handle = Effect.gen(function* () {
      const request = yield* HttpServerRequest.HttpServerRequest
      // A page of another origin must not speak for whoever is signed in here; programs send no `Origin`.
      if (!isOwnOrigin("POST", request.headers["origin"], appUrl))
        return errorResponse(OriginIsForeignBody, new OriginIsForeign())
      const { params } = yield* HttpRouter.RouteContext
      const holder = yield* holderOf(request, AgentId.make(params["id"] ?? ""))
      if (!canAccept(request)) return errorResponse(UpgradeIsRequiredBody, new UpgradeIsRequired(), handshakeHeaders)
      yield* sockets.open(request, holder)
      return HttpServerResponse.empty({ status: 101 })
    }).pipe(
      Effect.catchTags({
        NotSignedIn: (error) => Effect.succeed(errorResponse(NotSignedInBody, error)),
        AgentIsUnknown: (error) => Effect.succeed(errorResponse(AgentIsUnknownBody, error)),
        TooManySockets: (error) => Effect.succeed(errorResponse(TooManySocketsBody, error, { "retry-after": "5" }))
      })
    )
    yield* router.add("GET", path, handle)
  })
)
