import { ProviderName } from "@berth/domain/ai/models/Model"
import { ChatMessage, ToolSpec } from "@berth/domain/ai/chat/ModelChat"
import { ModelDelta, ModelToolCall } from "@berth/domain/ai/streams/ModelEvent"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema } from "@effect/platform"
import { Schema } from "effect"
import { InternalAuth } from "../../http/InternalAuth.ts"
import { AgentId } from "@berth/domain/shared/AgentId"
import { UserId } from "@berth/domain/shared/UserId"

/*
 * Answers of models on the private listener, for a gateway in another process.
 */

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

/** A `ChatRequest` of the domain, word for word. */
export const ModelAnswerRequest = Schema.Struct({
  messages: Schema.Array(ChatMessage),
  model: optional(Schema.String),
  taskType: optional(Schema.String),
  options: optional(ChatOptions),
  unknownModel: optional(Schema.Literal("fall-back", "refuse")),
  ownKeysOnly: optional(Schema.Boolean),
  caller: Schema.Struct({ userId: Schema.NullOr(UserId), agentId: Schema.NullOr(AgentId) })
})
export type ModelAnswerRequest = typeof ModelAnswerRequest.Type

const opening = {
  id: Schema.String,
  model: Schema.String,
  provider: ProviderName,
  ownKey: Schema.Boolean,
  attempts: Schema.Array(
    Schema.Struct({
      model: Schema.String,
      provider: ProviderName,
      outcome: Schema.Literal(
        "answered",
        "skipped",
        "unreachable",
        "timeout",
        "rate-limited",
        "unauthorized",
        "refused",
        "overloaded",
        "nonsense"
      ),
      tries: Schema.Int
    })
  ),
  overheadMs: Schema.Number
}

/** A stream of them begins with `opened` and ends with `done`, or with what went wrong; one that ends with none of them was cut. */
export const ModelAnswerEvent = Schema.Union(
  Schema.Struct({ type: Schema.Literal("opened"), ...opening }),
  ModelDelta,
  ModelToolCall,
  Schema.Struct({
    type: Schema.Literal("done"),
    ...opening,
    usage: Schema.Struct({
      promptTokens: Schema.Number,
      completionTokens: Schema.Number,
      totalTokens: Schema.Number
    }),
    usageIsEstimated: Schema.Boolean,
    costUsd: Schema.Number,
    finishReason: Schema.NullOr(Schema.String)
  }),
  Schema.Struct({
    type: Schema.Literal("failed"),
    reason: Schema.String,
    /** Milliseconds. */
    retryAfter: Schema.NullOr(Schema.Number),
    nobodyWasAsked: Schema.Boolean
  }),
  Schema.Struct({ type: Schema.Literal("invalid"), field: Schema.String, reason: Schema.String })
)
export type ModelAnswerEvent = typeof ModelAnswerEvent.Type

/** Answers with server-sent `ModelAnswerEvent`s. */
const answer = HttpApiEndpoint.post("answer", modelAnswersPath)
  .setPayload(ModelAnswerRequest)
  .addSuccess(HttpApiSchema.withEncoding(Schema.String, { kind: "Text", contentType: "text/event-stream" }))

export class ModelAnswersApi extends HttpApiGroup.make("modelAnswers").add(answer).middlewareEndpoints(InternalAuth) {}
