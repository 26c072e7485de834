import { WebApi } from "@berth/api/WebApi"
import { AccessTokens } from "@berth/domain/sessions/AccessTokens"
import { CurrentUser } from "@berth/domain/sessions/CurrentUser"
import { Effect } from "effect"
import { group } from "../http/ApiGroup.ts"
import { addResponseHeaders, privately } from "../http/ResponseHeaders.ts"

export const layer = group(WebApi, "accessTokens", (handlers) =>
  Effect.map(AccessTokens, ({ issue, publicKeys }) =>
    handlers
      .handle("issue", () =>
        Effect.gen(function* () {
          const { sessionId, user } = yield* CurrentUser
          yield* addResponseHeaders(privately)
          return yield* issue({ userId: user.id, sessionId })
        })
      )
      // Short, since a new key signs at once.
      .handle("keys", () =>
        Effect.as(addResponseHeaders({ "cache-control": "public, max-age=300" }), { keys: publicKeys })
      )
  )
)
