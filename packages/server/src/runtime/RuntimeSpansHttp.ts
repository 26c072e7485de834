import { BackendApi } from "@berth/api/BackendApi"
import { RuntimeOwner } from "@berth/api/runtime/RuntimeModelApi"
import { RuntimeSpans } from "@berth/domain/instances/RuntimeSpans"
import { HttpApiBuilder } from "@effect/platform"
import { Effect } from "effect"
import { addRetryAfter } from "../http/ResponseHeaders.ts"

/** The owner of the token, not the body, determines the spans' owner. */
export const layer = HttpApiBuilder.group(BackendApi, "runtimeSpans", (handlers) =>
  Effect.map(RuntimeSpans, ({ relay }) =>
    handlers.handle("relay", ({ payload: { spans } }) =>
      Effect.flatMap(RuntimeOwner, (owner) => relay(owner, spans)).pipe(
        Effect.tapErrorTag("RateLimitExceeded", addRetryAfter)
      )
    )
  )
)
