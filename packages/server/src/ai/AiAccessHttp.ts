import { AiAccess } from "@berth/api/ai/AiErrorBodies"
import { InternalKeyRequired } from "@berth/api/http/InternalAuth"
import { Digests } from "@berth/domain/secrets/Digests"
import { HttpServerRequest } from "@effect/platform"
import { Context, Effect, Layer, Option } from "effect"
import { InternalKey, readBearerToken } from "../http/InternalAuthHttp.ts"

/** Whether the AI layer is for the service's own processes only. */
export class IsAiLayerPrivate extends Context.Tag("@berth/IsAiLayerPrivate")<IsAiLayerPrivate, boolean>() {}

/** Whether a request may use the AI layer. */
export const makeModelAccessCheck = Effect.gen(function* () {
  const isPrivate = yield* IsAiLayerPrivate
  const key = yield* InternalKey
  const digests = yield* Digests
  return (request: HttpServerRequest.HttpServerRequest): boolean =>
    !isPrivate || Option.exists(readBearerToken(request), (shown) => digests.equal(shown, key))
})

export const layer = Layer.effect(
  AiAccess,
  Effect.map(makeModelAccessCheck, (may) =>
    AiAccess.of({
      internal: () =>
        Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) =>
          may(request) ? Effect.void : new InternalKeyRequired()
        )
    })
  )
)
