import { AiAccess } from "@berth/api/ai/AiErrorBodies"
import { InternalKeyIsWrong } from "@berth/api/http/InternalAuth"
import { Tokens } from "@berth/domain/secrets/Tokens"
import { HttpServerRequest } from "@effect/platform"
import { Context, Effect, Layer, Option } from "effect"
import { InternalKey, tokenOf } from "../http/InternalAuthHttp.ts"

/** Whether the AI layer is for the service's own processes only. */
export class AiLayerIsPrivate extends Context.Tag("@berth/AiLayerIsPrivate")<AiLayerIsPrivate, boolean>() {}

/** Whether a request may use the AI layer. */
export const mayUseModels = Effect.gen(function* () {
  const isPrivate = yield* AiLayerIsPrivate
  const key = yield* InternalKey
  const tokens = yield* Tokens
  return (request: HttpServerRequest.HttpServerRequest): boolean =>
    !isPrivate || Option.exists(tokenOf(request), (shown) => tokens.equal(shown, key))
})

export const layer = Layer.effect(
  AiAccess,
  Effect.map(mayUseModels, (may) =>
    AiAccess.of({
      internal: () =>
        Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) =>
          may(request) ? Effect.void : new InternalKeyIsWrong()
        )
    })
  )
)
