import { AiAccess } from "@berth/api/ai/AiErrorBodies"
import { InternalKeyIsWrong } from "@berth/api/http/InternalAuth"
import { Tokens } from "@berth/domain/secrets/Tokens"
import { Context, Effect, Layer, Option } from "effect"
import { bearerToken, InternalKey } from "../http/InternalAuthHttp.ts"

/** Whether the AI layer is for the service's own processes only. */
export class AiLayerIsPrivate extends Context.Tag("@berth/AiLayerIsPrivate")<AiLayerIsPrivate, boolean>() {}

export const layer = Layer.effect(
  AiAccess,
  Effect.gen(function* () {
    const isPrivate = yield* AiLayerIsPrivate
    const key = yield* InternalKey
    const tokens = yield* Tokens
    return AiAccess.of({
      internal: () =>
        isPrivate
          ? Effect.flatMap(bearerToken, (token) =>
              Option.exists(token, (shown) => tokens.equal(shown, key)) ? Effect.void : new InternalKeyIsWrong()
            )
          : Effect.void
    })
  })
)
