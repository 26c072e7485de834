import { Context, type Effect, type Scope } from "effect"
import type { ChatOpening, ChatRequest } from "../../ai/calls/ChatRequest.ts"
import type { EmbeddingInput, EmbeddingVectors } from "../../ai/models/ModelProviders.ts"
import type { UserId } from "../../shared/UserId.ts"
import type { ProviderStatus } from "../../ai/models/ProviderStatus.ts"
import type { AnsweringModel } from "../../ai/models/AnsweringModel.ts"
import type { ChunkReader } from "../../ai/streams/ChunkReader.ts"
import type { ModelEvent } from "../../ai/streams/ModelEvent.ts"
import type { PluginFailed, PluginInputInvalid } from "./PluginRun.ts"

export interface OpenedModelAnswer {
  readonly opening: ChatOpening
  /** The last event is `done`. */
  readonly events: ChunkReader<ModelEvent, PluginFailed | PluginInputInvalid>
}

/** The cost of an answer before it is opened. */
export interface ModelQuote {
  /** Upper bound in US dollars, by the model that is called first. */
  readonly costUsd: number
  /** US dollars per million tokens of that model. */
  readonly inputCost: number
  readonly outputCost: number
  /** Estimated tokens of the prompt, and the limit of the answer. */
  readonly promptTokens: number
  readonly maxTokens: number
  /** Whether the caller's own keys will answer. */
  readonly ownKey: boolean
  /** The model that is called first, and whether it replaces the requested one, which no provider serves. */
  readonly answeredBy: AnsweringModel
  readonly isSubstitute: boolean
  /** Whether that model accepts images. */
  readonly seesImages: boolean
}

export interface EmbeddingRequest extends EmbeddingInput {
  readonly model: string
  readonly userId: UserId | null
  /** By the user's own key, or else by the platform's: the call is charged before the key is used. */
  readonly ownKey: boolean
}

export interface Embedded extends EmbeddingVectors {
  /** US dollars, by the catalog's prices. */
  readonly costUsd: number
}

/** Answers of models: by the AI layer in this process, or by a client of the backend API. */
export class ModelAnswers extends Context.Tag("@berth/ModelAnswers")<
  ModelAnswers,
  {
    /** The ids of the models that can be called. */
    readonly models: Effect.Effect<ReadonlyArray<string>, PluginFailed>
    readonly providers: Effect.Effect<ReadonlyArray<ProviderStatus>, PluginFailed>
    readonly quote: (request: ChatRequest) => Effect.Effect<ModelQuote, PluginFailed | PluginInputInvalid>
    /** Waits for the first text. Closing the scope ends the model call. */
    readonly open: (
      request: ChatRequest
    ) => Effect.Effect<OpenedModelAnswer, PluginFailed | PluginInputInvalid, Scope.Scope>
    readonly embed: (request: EmbeddingRequest) => Effect.Effect<Embedded, PluginFailed | PluginInputInvalid>
  }
>() {}
