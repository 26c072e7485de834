import { BackendApi } from "@berth/api/BackendApi"
import { RuntimeOwner } from "@berth/api/runtime/RuntimeModelApi"
import { RuntimeSpans } from "@berth/domain/instances/RuntimeSpans"
import { Effect } from "effect"
import { group } from "../http/ApiGroup.ts"
import { addRetryAfter } from "../http/ResponseHeaders.ts"

/** The owner of the token, not the body, determines the spans' owner. */
export const layer = group(BackendApi, "runtimeSpans", (handlers) =>
  Effect.map(RuntimeSpans, ({ relay }) =>
    handlers.handle("relay", ({ payload: { spans } }) =>
      Effect.flatMap(RuntimeOwner, (owner) => relay(owner, spans)).pipe(
        Effect.tapErrorTag("RateLimitExceeded", addRetryAfter)
      )
    )
  )
)
