import { Context, Effect, Layer } from "effect"
import { AiLayer } from "./AiLayer.ts"
import type { UserId } from "../shared/UserId.ts"

// What nearly every model of today has at least; it counts only while there is none to answer.
const usualWindow = 128_000

/** How many tokens the model takes at once that would answer for an id. */
export class ContextWindows extends Context.Tag("@berth/ContextWindows")<
  ContextWindows,
  { readonly find: (model: string, owner: UserId) => Effect.Effect<number> }
>() {
  /** As the AI layer's catalogue has it. */
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
