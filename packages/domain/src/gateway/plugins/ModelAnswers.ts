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

/** Cost of an answer before the call. */
export interface ModelQuote {
  /** Upper bound in US dollars, for the model called first. */
  readonly costUsd: number
  /** US dollars per million tokens of that model. */
  readonly inputCost: number
  readonly outputCost: number
  /** Estimated tokens of the prompt, and the limit of the answer in tokens. */
  readonly promptTokens: number
  readonly maxTokens: number
  /** Whether the caller's own keys answer. */
  readonly ownKey: boolean
  /** The model called first, and whether it replaces the requested model, which no provider serves. */
  readonly answeredBy: AnsweringModel
  readonly isSubstitute: boolean
  /** Whether the first model accepts images. */
  readonly seesImages: boolean
}

export interface EmbeddingRequest extends EmbeddingInput {
  readonly model: string
  readonly userId: UserId | null
  /** Whether to use the user's own key instead of the platform's: the call is priced before the key is used. */
  readonly ownKey: boolean
}

export interface Embedded extends EmbeddingVectors {
  /** US dollars, by the catalog's prices. */
  readonly costUsd: number
}

/** Model answers, from the AI layer in this process or from a client of the backend API. */
export class ModelAnswers extends Context.Tag("@berth/ModelAnswers")<
  ModelAnswers,
  {
    /** Ids of the callable models. */
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
