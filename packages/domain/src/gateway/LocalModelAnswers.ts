import { Effect, Layer, Stream } from "effect"
import { AiLayer, type ChatError } from "../ai/AiLayer.ts"
import type { ChatOpening, ChatRequest } from "../ai/ChatRequest.ts"
import { ModelAnswers } from "./ModelAnswers.ts"
import { PluginFailed, PluginInputIsInvalid } from "./PluginRun.ts"

/** Why a model did not answer, in the gateway's words: what the caller named is his to put right, everything else is not. */
const asFailure = (error: ChatError): PluginFailed | PluginInputIsInvalid => {
  switch (error._tag) {
    case "ModelIsUnknown":
      return new PluginInputIsInvalid({ field: "model", reason: error.message })
    case "MessagesAreMissing":
      return new PluginInputIsInvalid({ field: "messages", reason: error.message })
    case "NoModelsAvailable":
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
            Effect.tap(ai.open(request), ({ events: _, ...opening }) => opened(opening)),
            ({ events }) => events
          )
        ).pipe(Stream.mapError(asFailure))
    })
  )
)
