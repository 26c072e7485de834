import { AiLayer } from "@berth/domain/ai/AiLayer"
import { ModelAnswers } from "@berth/domain/gateway/ModelAnswers"
import { PluginFailed } from "@berth/domain/gateway/PluginRun"
import { Effect, Layer, Stream } from "effect"

/** Answers of the AI layer in this process. */
export const layer = Layer.effect(
  ModelAnswers,
  Effect.map(AiLayer, (ai) =>
    ModelAnswers.of({
      answer: (request) => Stream.mapError(ai.chat(request), ({ message }) => new PluginFailed({ reason: message }))
    })
  )
).pipe(Layer.provide(AiLayer.Default))
