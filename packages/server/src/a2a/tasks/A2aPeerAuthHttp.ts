import { A2aPeerAuth } from "@berth/api/a2a/tasks/A2aTasksApi"
import { A2aPeers } from "@berth/domain/a2a/tasks/A2aPeers"
import { GatewayTokenAccess } from "@berth/domain/instances/GatewayTokenAccess"
import { AgentId } from "@berth/domain/shared/AgentId"
import { HttpRouter, HttpServerRequest } from "@effect/platform"
import { Effect, Layer, Option } from "effect"
import { readBearerToken } from "../../http/InternalAuthHttp.ts"
import { classifyBearerToken, RequestCredentials } from "../../http/RequestCredentials.ts"

/** A gateway token is the one of the instance of the agent in the path. */
export const layer = Layer.effect(
  A2aPeerAuth,
  Effect.gen(function* () {
    const credentials = yield* RequestCredentials
    const gateway = yield* GatewayTokenAccess
    const peers = yield* A2aPeers

    return A2aPeerAuth.of({
      session: () =>
        Effect.gen(function* () {
          const request = yield* HttpServerRequest.HttpServerRequest
          const { params } = yield* HttpRouter.RouteContext
          const id = AgentId.make(params["id"] ?? "")
          const token = Option.filter(readBearerToken(request), (given) => classifyBearerToken(given) === "session")
          const byToken = yield* Effect.transposeMapOption(token, (given) => gateway.authenticate(id, given))
          const { user } = yield* Option.match(Option.flatten(byToken), {
            onNone: () => credentials.require,
            onSome: ({ mark, user }) => credentials.accept({ user, proof: { by: "token", mark } })
          })
          return yield* peers.find(user, id)
        })
    })
  })
)
