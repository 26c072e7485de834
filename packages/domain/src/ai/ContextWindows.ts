import { Context, Effect, Layer } from "effect"
import { AiLayer } from "./AiLayer.ts"
import type { UserId } from "../shared/UserId.ts"

// Used while no model is available.
const usualWindow = 128_000

/** Context window of the model that answers for an id. */
export class ContextWindows extends Context.Tag("@berth/ContextWindows")<
  ContextWindows,
  { readonly find: (model: string, owner: UserId) => Effect.Effect<number> }
>() {
  static readonly layer = Layer.effect(
    ContextWindows,
    Effect.map(AiLayer, (ai) => ({
      find: (model, owner) =>
        ai.resolve(model, owner).pipe(
          Effect.map((resolution) => resolution.model.contextWindow),
          Effect.catchTag("ModelsUnavailable", () => Effect.succeed(usualWindow))
        )
    }))
  )
}
