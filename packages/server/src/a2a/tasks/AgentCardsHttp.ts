import { CurrentA2aPeer } from "@berth/api/a2a/tasks/A2aTasksApi"
import { WebApi } from "@berth/api/WebApi"
import { HttpServerResponse } from "@effect/platform"
import { Effect } from "effect"
import { group } from "../../http/ApiGroup.ts"
import { createHash } from "node:crypto"
import { isKnownByClient } from "../../http/EntityTags.ts"
import { makeA2aOperations } from "./A2aOperations.ts"

/** Private, since other callers may lack access, and short, since access can be revoked. */
const cardPolicy = { "cache-control": "private, max-age=60", vary: "authorization, cookie" }

export const layer = group(WebApi, "agentCards", (handlers) =>
  Effect.gen(function* () {
    const { card } = yield* makeA2aOperations

    return handlers.handle("card", ({ request }) =>
      Effect.gen(function* () {
        const body = JSON.stringify(yield* card(yield* CurrentA2aPeer, { all: false }))
        const etag = `"${createHash("sha256").update(body).digest("base64url").slice(0, 22)}"`
        const headers = { etag, ...cardPolicy }
        return isKnownByClient(request.headers["if-none-match"], etag)
          ? HttpServerResponse.empty({ status: 304, headers })
          : HttpServerResponse.text(body, { contentType: "application/json", headers })
      })
    )
  })
)
