import { Model, ProviderName, TaskType } from "@berth/domain/ai/models/Model"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "@effect/platform"
import { Schema, Struct } from "effect"
import { EventStream } from "../http/EventStream.ts"
import { ModelName, namesFirstItem, optionalText, payload } from "../http/Payload.ts"
import { Timestamp } from "../http/Timestamp.ts"
import { InternalFailureBody } from "../http/TransportErrors.ts"
import { ResponseFormatBody, TextContent, UserContent } from "./ChatContent.ts"
import {
  AiAccess,
  AiServiceUnavailableBody,
  MessagesMissingBody,
  ModelNotFoundBody,
  ModelsUnavailableBody,
  ProviderFailedBody,
  ProviderNotFoundBody,
  TokenCountInvalidBody
} from "./AiErrorBodies.ts"

const optional = <A, I>(schema: Schema.Schema<A, I>) => Schema.optionalWith(schema, { nullable: true })

export const AiChatMessage = Schema.Union(
  Schema.Struct({ role: Schema.Literal("user"), content: UserContent }),
  Schema.Struct({ role: Schema.Literal("assistant"), content: TextContent }),
  Schema.Struct({ role: Schema.Literal("system"), content: TextContent })
).annotations({ identifier: "AiChatMessage" })

const AiHealthAnswer = Schema.Struct({
  status: Schema.Literal("healthy", "degraded"),
  providers: Schema.Record({ key: Schema.String, value: Schema.Boolean }),
  timestamp: Timestamp
}).annotations({ identifier: "AiHealth" })

const health = HttpApiEndpoint.get("health", "/api/ai/health")
  .addSuccess(AiHealthAnswer)
  .addError(AiServiceUnavailableBody)
  .annotate(OpenApi.Summary, "Check the model providers")

const ListedModel = Schema.Struct(Struct.omit(Model.fields, "takesTools", "maxOutputTokens")).annotations({
  identifier: "Model"
})

const ModelsAnswer = Schema.Struct({
  models: Schema.Array(ListedModel),
  count: Schema.Int,
  providers: Schema.Record({ key: Schema.String, value: Schema.Int }).annotations({
    description: "Number of models by provider"
  }),
  timestamp: Timestamp
}).annotations({ identifier: "Models" })

const models = HttpApiEndpoint.get("models", "/api/ai/models")
  .addSuccess(ModelsAnswer)
  .annotate(OpenApi.Summary, "List models")

const ProviderModelsAnswer = Schema.Struct({
  provider: ProviderName,
  models: Schema.Array(ListedModel),
  count: Schema.Int,
  timestamp: Timestamp
}).annotations({ identifier: "ProviderModels" })

const modelsOfProvider = HttpApiEndpoint.get("modelsOfProvider", "/api/ai/models/:provider")
  .setPath(Schema.Struct({ provider: Schema.String }))
  .addSuccess(ProviderModelsAnswer)
  .addError(ProviderNotFoundBody)
  .annotate(OpenApi.Summary, "List the models of a provider")

const SelectedModel = Schema.Struct({
  model: Schema.Struct({ id: Schema.String, provider: ProviderName }),
  taskType: TaskType,
  timestamp: Timestamp
}).annotations({ identifier: "SelectedModel" })

/** An unknown or absent task type means general. */
const selectModel = HttpApiEndpoint.post("selectModel", "/api/ai/models/select")
  .setPayload(payload({ taskType: optionalText }))
  .addSuccess(SelectedModel)
  .addError(ModelsUnavailableBody)
  .annotate(OpenApi.Summary, "Select the best model for a task")

export const ChatPayload = payload({
  messages: Schema.NonEmptyArray(AiChatMessage).annotations(namesFirstItem),
  model: optional(ModelName),
  taskType: optionalText,
  temperature: optional(Schema.Number.pipe(Schema.between(0, 2))),
  top_p: optional(Schema.Number.pipe(Schema.between(0, 1))),
  max_tokens: optional(Schema.Int.pipe(Schema.positive())),
  response_format: optional(ResponseFormatBody),
  stream: optional(Schema.Boolean).annotations({
    description: "Whether to answer with server-sent events: delta, then done or error"
  })
}).annotations({ identifier: "AiChat" })

const TokenUsageBody = Schema.Struct({
  promptTokens: Schema.Int,
  completionTokens: Schema.Int,
  totalTokens: Schema.Int
}).annotations({ identifier: "TokenUsageBody" })

export const ChatAnswer = Schema.Struct({
  id: Schema.String,
  model: Schema.String,
  provider: ProviderName,
  message: Schema.Struct({ role: Schema.Literal("assistant"), content: Schema.String }),
  usage: TokenUsageBody,
  timestamp: Timestamp
}).annotations({ identifier: "AiChatAnswer" })

const chat = HttpApiEndpoint.post("chat", "/api/ai/chat")
  .setPayload(ChatPayload)
  .addSuccess(ChatAnswer)
  .addSuccess(EventStream)
  .addError(MessagesMissingBody)
  .addError(ModelNotFoundBody)
  .addError(ModelsUnavailableBody)
  .addError(ProviderFailedBody)
  .annotate(OpenApi.Summary, "Call a model")

const CostAnswer = Schema.Struct({
  model: Schema.String,
  inputTokens: Schema.Number,
  outputTokens: Schema.Number,
  estimatedCost: Schema.Number.annotations({ description: "US dollars" }),
  currency: Schema.Literal("USD"),
  timestamp: Timestamp
}).annotations({ identifier: "CostEstimate" })

const estimateCost = HttpApiEndpoint.post("estimateCost", "/api/ai/estimate-cost")
  .setPayload(payload({ model: ModelName, inputTokens: Schema.Number, outputTokens: Schema.Number }))
  .addSuccess(CostAnswer)
  .addError(ModelNotFoundBody)
  .addError(TokenCountInvalidBody)
  .annotate(OpenApi.Summary, "Estimate the cost of a model call")

/** On the private listener. */
export class AiApi extends HttpApiGroup.make("ai")
  .add(health)
  .add(models)
  .add(modelsOfProvider)
  .add(selectModel)
  .add(chat)
  .add(estimateCost)
  .middlewareEndpoints(AiAccess)
  .addError(InternalFailureBody) {}
