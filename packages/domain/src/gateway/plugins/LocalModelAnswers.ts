import { Effect, Layer, Stream } from "effect"
import { AiLayer, type ChatError } from "../../ai/AiLayer.ts"
import type { ChatOpening, ChatRequest } from "../../ai/calls/ChatRequest.ts"
import { ModelAnswers } from "./ModelAnswers.ts"
import { PluginFailed, PluginInputInvalid } from "./PluginRun.ts"

/** Why a model did not answer, in the gateway's words: what the caller named is his to put right, everything else is not. */
const asFailure = (error: ChatError): PluginFailed | PluginInputInvalid => {
  switch (error._tag) {
    case "ModelNotFound":
      return new PluginInputInvalid({ field: "model", reason: error.message })
    case "MessagesMissing":
      return new PluginInputInvalid({ field: "messages", reason: error.message })
    case "ModelsUnavailable":
      return new PluginFailed({ reason: error.message, nobodyWasAsked: true })
    case "ProviderFailed":
      return new PluginFailed({ reason: error.message, retryAfter: error.retryAfter })
  }
}

const withoutNotice = () => Effect.void

/** The AI layer in this process. */
export const layer = Layer.effect(
  ModelAnswers,
  Effect.map(AiLayer, (ai) =>
    ModelAnswers.of({
      answer: (request: ChatRequest, opened: (opening: ChatOpening) => Effect.Effect<void> = withoutNotice) =>
        Stream.unwrapScoped(
          Effect.map(
            Effect.tap(ai.open(request), ({ opening }) => opened(opening)),
            ({ events }) => events
          )
        ).pipe(Stream.mapError(asFailure))
    })
  )
)
