import { WebApi } from "@berth/api/WebApi"
import { CurrentUser } from "@berth/domain/sessions/CurrentUser"
import { Sessions } from "@berth/domain/sessions/Sessions"
import { HttpServerResponse } from "@effect/platform"
import { Effect } from "effect"
import { group } from "../http/ApiGroup.ts"
import { SessionCookie } from "../http/SecretCookies.ts"

export const layer = group(WebApi, "sessions", (handlers) =>
  Effect.map(Effect.all([Sessions, SessionCookie]), ([sessions, cookie]) =>
    handlers
      .handle("list", () =>
        Effect.gen(function* () {
          const { sessionId, user } = yield* CurrentUser
          const open = yield* sessions.listByUser(user.id)
          return {
            sessions: open.map(({ address, createdAt, id, lastSeenAt, userAgent }) => ({
              id,
              createdAt,
              lastSeenAt,
              userAgent,
              address,
              current: id === sessionId
            }))
          }
        })
      )
      .handle("revoke", ({ path: { id } }) =>
        Effect.gen(function* () {
          const { sessionId, user } = yield* CurrentUser
          yield* sessions.revokeOwned(user.id, id)
          const revoked = HttpServerResponse.unsafeJson({ success: true })
          return id === sessionId ? cookie.clear(revoked) : revoked
        })
      )
  )
)
