import { AccessTokenRequired, BearerAuth } from "@berth/api/sessions/BearerAuth"
import { Effect, Layer, Option } from "effect"
import { RequestCredentials } from "../http/RequestCredentials.ts"
import { addResponseHeaders, bearerChallenge } from "../http/ResponseHeaders.ts"

export const layer = Layer.effect(
  BearerAuth,
  Effect.map(RequestCredentials, ({ findToken }) =>
    BearerAuth.of({
      jwt: () =>
        findToken.pipe(
          Effect.catchTag("AuthenticationRequired", () => new AccessTokenRequired()),
          Effect.flatMap(
            Option.match({
              onNone: () =>
                Effect.zipRight(addResponseHeaders({ "www-authenticate": bearerChallenge }), new AccessTokenRequired()),
              onSome: Effect.succeed
            })
          )
        )
    })
  )
)
