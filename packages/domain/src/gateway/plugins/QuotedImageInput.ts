import { Effect, Layer } from "effect"
import { ImageInput } from "../../interaction/attachments/ImageInput.ts"
import { ModelAnswers } from "./ModelAnswers.ts"

/** Uses a quote of the AI layer. A failed quote rejects nothing, since the turn reports the failure itself. */
export const layer = Layer.effect(
  ImageInput,
  Effect.map(ModelAnswers, ({ quote }) =>
    ImageInput.of({
      isAccepted: (userId, model) =>
        quote({ messages: [{ role: "user", content: "" }], model, caller: { userId, agentId: null } }).pipe(
          Effect.map(({ seesImages }) => seesImages),
          Effect.orElseSucceed(() => true)
        )
    })
  )
)
