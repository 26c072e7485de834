import { BackendApi } from "@berth/api/BackendApi"
import { RuntimeOwner } from "@berth/api/runtime/RuntimeModelApi"
import { TurnPages } from "@berth/domain/interaction/turns/TurnPages"
import { HttpServerResponse } from "@effect/platform"
import { Effect } from "effect"
import { group } from "../http/ApiGroup.ts"
import { addRetryAfter } from "../http/ResponseHeaders.ts"

export const layer = group(BackendApi, "runtimePages", (handlers) =>
  Effect.map(TurnPages, (pages) =>
    handlers.handle("open", ({ payload: { agentId, messageId: turnId, url } }) =>
      Effect.gen(function* () {
        const page = yield* pages.open({ userId: yield* RuntimeOwner, agentId, turnId }, url)
        return HttpServerResponse.stream(page.body, {
          contentType: page.contentType,
          headers: { "content-location": page.url.href }
        })
      }).pipe(Effect.tapErrorTag("RateLimitExceeded", addRetryAfter))
    )
  )
)
