import { makeRetryAfterHeader } from "@berth/api/limits/RateLimits"
import { AgentNotFoundBody } from "@berth/api/agents/AgentErrorBodies"
import { OriginNotAllowed, OriginNotAllowedBody } from "@berth/api/http/TransportErrors"
import {
  HandshakeKeyInvalid,
  HandshakeKeyInvalidBody,
  SocketLimitReachedBody,
  UpgradeRequired,
  UpgradeRequiredBody
} from "@berth/api/interaction/AgentSocketFrames"
import { ScopeMissingBody } from "@berth/api/sessions/RequiredScope"
import { AuthenticationRequiredBody } from "@berth/api/sessions/SessionAuth"
import { Agents } from "@berth/domain/agents/Agents"
import { GatewayTokenAccess } from "@berth/domain/instances/GatewayTokenAccess"
import { AuthenticationRequired } from "@berth/domain/sessions/SessionErrors"
import { HttpLayerRouter, HttpRouter, HttpServerRequest, HttpServerResponse } from "@effect/platform"
import { Duration, Effect, Option, type Redacted } from "effect"
import { makeErrorResponse } from "../http/ErrorResponse.ts"
import { readBearerToken } from "../http/InternalAuthHttp.ts"
import { InstanceHost } from "../http/InstanceHost.ts"
import { isOwnOrigin } from "../http/OriginPolicy.ts"
import { makePlainRoute } from "../http/RouteTable.ts"
import { hasHandshakeKey, isHandshake } from "../http/WebSocketUpgrade.ts"
import { WebSettings } from "../http/WebSettings.ts"
import { classifyBearerToken, RequestCredentials } from "../http/RequestCredentials.ts"
import type { SocketHolder } from "./AgentSocket.ts"
import { AgentSockets } from "./AgentSockets.ts"
import { AgentId } from "@berth/domain/shared/AgentId"

const path = "/agents/:id/ws"
export const agentSocketRoutes = [{ ...makePlainRoute("GET", path), scope: "chat" as const }]

/** RFC 9110 section 15.5.22 and RFC 6455 section 4.4. */
const handshakeHeaders = { connection: "Upgrade", upgrade: "websocket", "sec-websocket-version": "13" }

/** The bearer token of a socket is an API key, or the gateway token of the agent's instance. */
const isGatewayToken = (token: Redacted.Redacted) => classifyBearerToken(token) !== "api-key"

/** `/agents/:id/ws`, with session cookie, API key or gateway token. Rejections precede the handshake and are JSON. */
export const layer = HttpLayerRouter.use((router) =>
  Effect.gen(function* () {
    const { appUrl } = yield* WebSettings
    const credentials = yield* RequestCredentials
    const agents = yield* Agents
    const gateway = yield* GatewayTokenAccess
    const sockets = yield* AgentSockets

    /** At an instance's subdomain, `RequestCredentials` reads the gateway token. */
    const authenticate = (request: HttpServerRequest.HttpServerRequest, id: AgentId, isAtInstance: boolean) =>
      Option.match(
        Option.filter(readBearerToken(request), (token) => !isAtInstance && isGatewayToken(token)),
        {
          onSome: (token) =>
            Effect.flatMap(
              gateway.authenticate(id, token),
              Option.match({
                onNone: () => Effect.fail(new AuthenticationRequired()),
                onSome: ({ agent, mark, user }) =>
                  Effect.succeed<SocketHolder>({ agent, user, proof: { by: "token", mark } })
              })
            ),
          onNone: () =>
            Effect.gen(function* () {
              const { proof, user } = yield* credentials.require
              return { agent: yield* agents.find(user.id, id), user, proof } satisfies SocketHolder
            })
        }
      )

    const handle = Effect.gen(function* () {
      const request = yield* HttpServerRequest.HttpServerRequest
      const site = yield* InstanceHost
      const ownOrigin = Option.match(site, { onNone: () => appUrl, onSome: ({ origin }) => origin })
      // Browsers send cookies with cross-origin handshakes; programs send no `Origin`.
      if (!isOwnOrigin("POST", request.headers, ownOrigin))
        return makeErrorResponse(OriginNotAllowedBody, new OriginNotAllowed())
      const { params } = yield* HttpRouter.RouteContext
      const holder = yield* authenticate(request, AgentId.make(params["id"] ?? ""), Option.isSome(site))
      if (!isHandshake(request)) return makeErrorResponse(UpgradeRequiredBody, new UpgradeRequired(), handshakeHeaders)
      if (!hasHandshakeKey(request)) return makeErrorResponse(HandshakeKeyInvalidBody, new HandshakeKeyInvalid())
      yield* sockets.open(request, holder)
      return HttpServerResponse.empty({ status: 101 })
    }).pipe(
      Effect.catchTags({
        AuthenticationRequired: (error) => Effect.succeed(makeErrorResponse(AuthenticationRequiredBody, error)),
        ScopeMissing: (error) => Effect.succeed(makeErrorResponse(ScopeMissingBody, error)),
        AgentNotFound: (error) => Effect.succeed(makeErrorResponse(AgentNotFoundBody, error)),
        SocketLimitReached: (error) =>
          Effect.succeed(makeErrorResponse(SocketLimitReachedBody, error, makeRetryAfterHeader(Duration.seconds(5))))
      })
    )
    yield* router.add("GET", path, handle)
  })
)
