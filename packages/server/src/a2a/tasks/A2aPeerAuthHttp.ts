import { A2aPeerAuth, AgentCardAuth } from "@berth/api/a2a/tasks/A2aTasksApi"
import { A2aPeers } from "@berth/domain/a2a/tasks/A2aPeers"
import { AgentNotFound } from "@berth/domain/agents/AgentErrors"
import { GatewayTokenAccess } from "@berth/domain/instances/GatewayTokenAccess"
import { AuthenticationRequired } from "@berth/domain/sessions/SessionErrors"
import { AgentId } from "@berth/domain/shared/AgentId"
import { HttpRouter, HttpServerRequest } from "@effect/platform"
import { Effect, Layer, Option } from "effect"
import { readBearerToken } from "../../http/InternalAuthHttp.ts"
import { classifyBearerToken, RequestCredentials } from "../../http/RequestCredentials.ts"

/** A gateway token is checked for the instance of the agent in the path. */
const makePeerAuth = <E>(withoutCredential: () => E) =>
  Effect.gen(function* () {
    const credentials = yield* RequestCredentials
    const gateway = yield* GatewayTokenAccess
    const peers = yield* A2aPeers

    return {
      session: Effect.fnUntraced(function* () {
        const request = yield* HttpServerRequest.HttpServerRequest
        const { params } = yield* HttpRouter.RouteContext
        const id = AgentId.make(params["id"] ?? "")
        const token = Option.filter(readBearerToken(request), (bearer) => classifyBearerToken(bearer) === "session")
        const byToken = yield* Effect.transposeMapOption(token, (bearer) => gateway.authenticate(id, bearer))
        const { user } = yield* Option.match(Option.flatten(byToken), {
          onNone: () => Effect.flatMap(credentials.find, Effect.mapError(withoutCredential)),
          onSome: ({ mark, user }) => credentials.accept({ user, proof: { by: "token", mark } })
        })
        return yield* peers.find(user, id)
      })
    }
  })

export const layer = Layer.merge(
  Layer.effect(
    A2aPeerAuth,
    makePeerAuth(() => new AuthenticationRequired())
  ),
  Layer.effect(
    AgentCardAuth,
    makePeerAuth(() => new AgentNotFound())
  )
)
