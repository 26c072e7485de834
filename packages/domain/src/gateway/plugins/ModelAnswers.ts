import { Context, Effect, type Scope, Stream } from "effect"
import type { ChatOpening, ChatRequest } from "../../ai/calls/ChatRequest.ts"
import type { ModelEvent } from "../../ai/streams/ModelEvent.ts"
import type { PluginFailed, PluginInputInvalid } from "./PluginRun.ts"

export interface ModelAnswer {
  readonly opening: ChatOpening
  /** The last event is `done`. */
  readonly events: Stream.Stream<ModelEvent, PluginFailed | PluginInputInvalid>
}

/** Answers of models: by the AI layer in this process, or by a client of the backend API. */
export class ModelAnswers extends Context.Tag("@berth/ModelAnswers")<
  ModelAnswers,
  {
    /** Waits for the first text. Closing the scope ends the model call. */
    readonly open: (request: ChatRequest) => Effect.Effect<ModelAnswer, PluginFailed | PluginInputInvalid, Scope.Scope>
  }
>() {}

/** The events of an answer that is opened when the stream is read. */
export const streamModelAnswer = (answers: ModelAnswers["Type"], request: ChatRequest) =>
  Stream.unwrapScoped(Effect.map(answers.open(request), ({ events }) => events))
