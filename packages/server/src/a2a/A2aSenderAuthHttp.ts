import { A2aSenderAuth } from "@berth/api/a2a/A2aApi"
import { GatewayTokenAccess } from "@berth/domain/instances/GatewayTokenAccess"
import { AgentId } from "@berth/domain/shared/AgentId"
import { HttpServerRequest } from "@effect/platform"
import { Effect, Layer, Option, Schema } from "effect"
import { readBearerToken } from "../http/InternalAuthHttp.ts"
import { classifyBearerToken, RequestCredentials } from "../http/RequestCredentials.ts"

const Sender = Schema.Struct({ from: AgentId })

/** A gateway token is checked for the instance of `from` in the body. */
export const layer = Layer.effect(
  A2aSenderAuth,
  Effect.gen(function* () {
    const credentials = yield* RequestCredentials
    const gateway = yield* GatewayTokenAccess

    const findByGatewayToken = Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) =>
      Effect.transposeMapOption(
        Option.filter(readBearerToken(request), (token) => classifyBearerToken(token) === "session"),
        (token) =>
          HttpServerRequest.schemaBodyJson(Sender).pipe(
            Effect.flatMap(({ from }) => gateway.authenticate(from, token)),
            Effect.orElseSucceed(() => Option.none())
          )
      )
    ).pipe(Effect.map(Option.flatten))

    return A2aSenderAuth.of({
      session: () =>
        Effect.flatMap(
          findByGatewayToken,
          Option.match({
            onNone: () => credentials.require,
            onSome: ({ mark, user }) => credentials.accept({ user, proof: { by: "token", mark } })
          })
        )
    })
  })
)
