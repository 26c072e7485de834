import { ProviderFailureKind } from "@berth/domain/ai/models/ModelErrors"
import { UserId } from "@berth/domain/shared/UserId"
import { AgentId } from "@berth/domain/shared/AgentId"
import { AnsweringModel } from "@berth/domain/ai/models/AnsweringModel"
import { ProviderName } from "@berth/domain/ai/models/Model"
import { ChatMessage, ToolSpec } from "@berth/domain/ai/chat/ModelChat"
import { ModelDelta, ModelToolCall } from "@berth/domain/ai/streams/ModelEvent"
import { ChatOpeningFields } from "@berth/domain/gateway/payments/PaidAnswer"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import { EventStream } from "../../http/EventStream.ts"
import { Timestamp } from "../../http/Timestamp.ts"
import { InternalAuth } from "../../http/InternalAuth.ts"

/* Model answers on the private listener, for gateways in other processes. */

export const modelAnswersPath = "/internal/gateway/answers"

const optional = <A, I>(schema: Schema.Schema<A, I>) => Schema.optional(schema)

const ResponseFormat = Schema.Union(
  Schema.Struct({ type: Schema.Literal("json-object") }),
  Schema.Struct({
    type: Schema.Literal("json-schema"),
    name: Schema.String,
    description: optional(Schema.String),
    schema: Schema.Record({ key: Schema.String, value: Schema.Unknown }),
    strict: optional(Schema.Boolean)
  })
)

const ChatOptions = Schema.Struct({
  tools: optional(Schema.Array(ToolSpec)),
  toolChoice: optional(
    Schema.Union(Schema.Literal("auto", "none", "required"), Schema.Struct({ name: Schema.String }))
  ),
  parallelToolCalls: optional(Schema.Boolean),
  responseFormat: optional(ResponseFormat),
  temperature: optional(Schema.Number),
  topP: optional(Schema.Number),
  maxTokens: optional(Schema.Int),
  stop: optional(Schema.Array(Schema.String)),
  seed: optional(Schema.Int),
  frequencyPenalty: optional(Schema.Number),
  presencePenalty: optional(Schema.Number)
})

/** A `ChatRequest` of the domain. */
export const ModelAnswerRequest = Schema.Struct({
  messages: Schema.Array(ChatMessage),
  model: optional(Schema.String),
  taskType: optional(Schema.String),
  options: optional(ChatOptions),
  unknownModel: optional(Schema.Literal("fall-back", "refuse")),
  ownKeysOnly: optional(Schema.Boolean),
  fallbackCostLimitUsd: optional(Schema.Number),
  caller: Schema.Struct({ userId: Schema.NullOr(UserId), agentId: Schema.NullOr(AgentId) })
})
export type ModelAnswerRequest = typeof ModelAnswerRequest.Type

const AnswerFailed = Schema.Struct({
  type: Schema.Literal("failed"),
  reason: Schema.String,
  /** Milliseconds. */
  retryAfter: Schema.NullOr(Schema.Number),
  /** Absent in earlier releases. */
  kind: Schema.optional(ProviderFailureKind),
  isUnavailable: Schema.Boolean
})
const AnswerInvalid = Schema.Struct({ type: Schema.Literal("invalid"), field: Schema.String, reason: Schema.String })

/** A stream begins with `opened` and ends with `done`, `failed` or `invalid`; otherwise it was interrupted. */
export const ModelAnswerEvent = Schema.Union(
  Schema.Struct({ type: Schema.Literal("opened"), ...ChatOpeningFields.fields }),
  ModelDelta,
  ModelToolCall,
  Schema.Struct({
    type: Schema.Literal("done"),
    usage: Schema.Struct({
      promptTokens: Schema.Number,
      completionTokens: Schema.Number,
      totalTokens: Schema.Number,
      cachedTokens: optional(Schema.Number),
      reasoningTokens: optional(Schema.Number)
    }),
    usageIsEstimated: Schema.Boolean,
    costUsd: Schema.Number,
    finishReason: Schema.NullOr(Schema.String)
  }),
  AnswerFailed,
  AnswerInvalid
)
export type ModelAnswerEvent = typeof ModelAnswerEvent.Type

/** Responds with server-sent `ModelAnswerEvent`s. */
const answer = HttpApiEndpoint.post("answer", modelAnswersPath)
  .setPayload(ModelAnswerRequest)
  .addSuccess(EventStream)
  .annotate(OpenApi.Summary, "Answer a gateway call by a model")

const ModelQuoteResult = Schema.Union(
  Schema.Struct({
    type: Schema.Literal("quoted"),
    costUsd: Schema.Number,
    inputCost: Schema.Number,
    outputCost: Schema.Number,
    promptTokens: Schema.Number,
    maxTokens: Schema.Number,
    ownKey: Schema.Boolean,
    answeredBy: AnsweringModel,
    isSubstitute: Schema.Boolean,
    /** Absent in earlier releases. */
    seesImages: Schema.optionalWith(Schema.Boolean, { default: () => true })
  }),
  AnswerFailed,
  AnswerInvalid
)

/** Returns the cost of an answer before the call. */
const quote = HttpApiEndpoint.post("quote", "/internal/gateway/quotes")
  .setPayload(ModelAnswerRequest)
  .addSuccess(ModelQuoteResult)
  .annotate(OpenApi.Summary, "Quote the price of a gateway call")

const EmbeddingResult = Schema.Union(
  Schema.Struct({
    type: Schema.Literal("embedded"),
    vectors: Schema.Array(Schema.String),
    tokens: Schema.Int,
    costUsd: Schema.Number
  }),
  AnswerFailed,
  AnswerInvalid
)

const embed = HttpApiEndpoint.post("embed", "/internal/gateway/embeddings")
  .setPayload(
    Schema.Struct({
      model: Schema.String,
      input: Schema.Array(Schema.String),
      dimensions: optional(Schema.Int),
      userId: Schema.NullOr(UserId),
      ownKey: Schema.Boolean
    })
  )
  .addSuccess(EmbeddingResult)
  .annotate(OpenApi.Summary, "Create embeddings for the gateway")

/** Lists the ids of the callable models. */
const models = HttpApiEndpoint.get("models", "/internal/gateway/models")
  .addSuccess(Schema.Struct({ models: Schema.Array(Schema.String) }))
  .annotate(OpenApi.Summary, "List the models of the gateway")

/** A `ProviderStatus` of the domain. */
export const ProviderStatusBody = Schema.Struct({
  provider: ProviderName,
  reachable: Schema.Boolean.annotations({
    description: "Whether the provider's cheapest authenticated call succeeds, checked at most every 15 seconds"
  }),
  breaker: Schema.Literal("closed", "open", "probing").annotations({
    description: "Circuit breaker of its calls: `open` blocks all calls, `probing` admits one"
  }),
  lastSuccess: Schema.NullOr(
    Schema.Struct({
      at: Timestamp,
      firstTextMs: Schema.Number.annotations({ description: "Milliseconds from the call to the first text" })
    })
  ),
  lastFailure: Schema.NullOr(
    Schema.Struct({
      at: Timestamp,
      kind: ProviderFailureKind
    })
  )
}).annotations({ identifier: "ProviderStatus" })

const providers = HttpApiEndpoint.get("providers", "/internal/gateway/providers")
  .addSuccess(Schema.Struct({ providers: Schema.Array(ProviderStatusBody) }))
  .annotate(OpenApi.Summary, "List the model providers with their health")

export class ModelAnswersApi extends HttpApiGroup.make("modelAnswers")
  .add(answer)
  .add(quote)
  .add(embed)
  .add(models)
  .add(providers)
  .middlewareEndpoints(InternalAuth) {}
