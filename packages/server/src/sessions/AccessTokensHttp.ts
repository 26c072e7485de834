import { WebApi } from "@berth/api/WebApi"
import { AccessTokens } from "@berth/domain/sessions/AccessTokens"
import { CurrentUser } from "@berth/domain/sessions/CurrentUser"
import { HttpApiBuilder, HttpApp, HttpServerResponse } from "@effect/platform"
import { Effect } from "effect"

const cached = (how: string) =>
  HttpApp.appendPreResponseHandler((_request, response) =>
    Effect.succeed(HttpServerResponse.setHeader(response, "cache-control", how))
  )

export const layer = HttpApiBuilder.group(WebApi, "accessTokens", (handlers) =>
  Effect.map(AccessTokens, ({ issue, publicKeys }) =>
    handlers
      .handle("issue", () =>
        Effect.gen(function* () {
          const { sessionId, user } = yield* CurrentUser
          yield* cached("no-store")
          return yield* issue({ userId: user.id, sessionId })
        })
      )
      // A key that is new is in use at once, so nobody should rely on the old list for long.
      .handle("keys", () => Effect.as(cached("public, max-age=300"), { keys: publicKeys }))
  )
)
