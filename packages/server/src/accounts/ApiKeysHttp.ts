import { WebApi } from "@berth/api/WebApi"
import { ApiKeys } from "@berth/domain/accounts/api-keys/ApiKeys"
import { CurrentUser } from "@berth/domain/sessions/CurrentUser"
import { Effect } from "effect"
import { group } from "../http/ApiGroup.ts"
import { addResponseHeaders, addRetryAfter, privately } from "../http/ResponseHeaders.ts"

export const layer = group(WebApi, "apiKeys", (handlers) =>
  Effect.map(ApiKeys, (apiKeys) =>
    handlers
      .handle("list", ({ urlParams: { limit, offset } }) =>
        Effect.gen(function* () {
          const { user } = yield* CurrentUser
          return { ...(yield* apiKeys.list(user.id, { limit, offset })), limit, offset }
        })
      )
      .handle("create", ({ payload: { expiresAt, name, scopes } }) =>
        Effect.gen(function* () {
          const { key, secret } = yield* apiKeys
            .create(yield* CurrentUser, { name, scopes, expiresAt: expiresAt ?? null })
            .pipe(Effect.tapErrorTag("RateLimitExceeded", addRetryAfter))
          yield* addResponseHeaders(privately)
          return { ...key, key: secret }
        })
      )
      .handle("revoke", ({ path: { id } }) =>
        Effect.gen(function* () {
          const { user } = yield* CurrentUser
          yield* apiKeys.revoke(user.id, id)
          return { success: true }
        })
      )
  )
)
