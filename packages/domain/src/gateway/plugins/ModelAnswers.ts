import { Context, type Effect, type Stream } from "effect"
import type { ModelEvent } from "../../ai/streams/ModelEvent.ts"
import type { ChatOpening, ChatRequest } from "../../ai/calls/ChatRequest.ts"
import type { PluginFailed, PluginInputInvalid } from "./PluginRun.ts"

/**
 * Answers of models, wherever the AI layer runs. Two Layers: in the backend's own process it is the AI layer itself, elsewhere a
 * client of the backend API; callers cannot tell which.
 */
export class ModelAnswers extends Context.Tag("@berth/ModelAnswers")<
  ModelAnswers,
  {
    /**
     * Events as they come, the last one `done`. A reader that leaves ends the model's call. `opened` is done before the first of
     * them, once it is known who answers.
     */
    readonly answer: (
      request: ChatRequest,
      opened?: (opening: ChatOpening) => Effect.Effect<void>
    ) => Stream.Stream<ModelEvent, PluginFailed | PluginInputInvalid>
  }
>() {}
