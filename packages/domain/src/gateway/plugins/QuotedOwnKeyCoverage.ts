import { Effect, Layer } from "effect"
import { OwnKeyCoverage } from "../../interaction/turns/OwnKeyCoverage.ts"
import { ModelAnswers } from "./ModelAnswers.ts"

/** Uses a quote of the AI layer. A failed quote counts as not covered. */
export const layer = Layer.effect(
  OwnKeyCoverage,
  Effect.map(ModelAnswers, ({ quote }) =>
    OwnKeyCoverage.of({
      covers: (userId, model) =>
        quote({
          messages: [{ role: "user", content: "" }],
          model,
          ownKeysOnly: true,
          caller: { userId, agentId: null }
        }).pipe(
          Effect.map(({ ownKey }) => ownKey),
          Effect.orElseSucceed(() => false)
        )
    })
  )
)
