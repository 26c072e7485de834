import { Effect, Layer } from "effect"
import { AiLayer } from "../../ai/AiLayer.ts"
import type { ChatError } from "../../ai/calls/ModelChatCalls.ts"
import { makeLocalEmbeddings } from "../embeddings/LocalEmbeddings.ts"
import { ModelAnswers } from "./ModelAnswers.ts"
import { PluginFailed, PluginInputInvalid, toPluginFailed } from "./PluginRun.ts"

const toPluginError = (error: ChatError): PluginFailed | PluginInputInvalid => {
  switch (error._tag) {
    case "ModelNotFound":
      return new PluginInputInvalid({ field: "model", reason: error.message })
    case "MessagesMissing":
      return new PluginInputInvalid({ field: "messages", reason: error.message })
    case "ModelsUnavailable":
      return new PluginFailed({ reason: error.message, isUnavailable: true })
    case "ProviderFailed":
      return toPluginFailed(error)
  }
}

export const layer = Layer.effect(
  ModelAnswers,
  Effect.map(Effect.all([AiLayer, makeLocalEmbeddings]), ([ai, embeddings]) =>
    ModelAnswers.of({
      models: Effect.map(ai.models(), ({ models }) => [
        ...models.filter(({ available }) => available).map(({ id }) => id),
        ...embeddings.models
      ]),
      providers: ai.providers(),
      embed: embeddings.embed,
      quote: (request) => Effect.mapError(ai.quote(request), toPluginError),
      open: (request) =>
        Effect.mapBoth(ai.open(request), {
          onFailure: toPluginError,
          onSuccess: ({ opening, read }) => ({
            opening,
            events: Effect.mapError(read, toPluginError)
          })
        })
    })
  )
)
