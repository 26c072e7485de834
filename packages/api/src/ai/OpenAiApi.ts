import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import { EventStream } from "../http/EventStream.ts"
import { ModelName, namesFirstItem, payload } from "../http/Payload.ts"
import { InternalFailureBody } from "../http/TransportErrors.ts"
import { AiAccess, ModelNotFoundBody, ModelsUnavailableBody, ProviderFailedBody } from "./AiErrorBodies.ts"
import { ResponseFormatBody, TextContent, TextPart, UserContent } from "./ChatContent.ts"
import { documentErrors, ParameterUnsupportedBody } from "./OpenAiErrors.ts"

/*
 * The subset of OpenAI's protocol that chat clients use. Errors have OpenAI's format (`makeOpenAiFailure`). Undeclared
 * members are ignored, since they do not change an answer.
 */

const optional = <A, I>(schema: Schema.Schema<A, I>) => Schema.optionalWith(schema, { nullable: true })

const ToolCallBody = Schema.Struct({
  id: Schema.String,
  type: Schema.Literal("function"),
  function: Schema.Struct({ name: Schema.String, arguments: Schema.String })
}).annotations({ identifier: "OpenAiToolCall" })

const RefusalPart = Schema.Struct({ type: Schema.Literal("refusal"), refusal: Schema.String })

export const CompletionMessage = Schema.Union(
  // One schema per role, so that decode errors name the member.
  Schema.Struct({ role: Schema.Literal("system"), content: TextContent }),
  Schema.Struct({ role: Schema.Literal("developer"), content: TextContent }),
  Schema.Struct({ role: Schema.Literal("user"), content: UserContent }),
  Schema.Struct({
    role: Schema.Literal("assistant"),
    content: optional(Schema.Union(Schema.String, Schema.NonEmptyArray(Schema.Union(TextPart, RefusalPart)))),
    refusal: optional(Schema.String),
    tool_calls: optional(Schema.Array(ToolCallBody))
  }),
  Schema.Struct({ role: Schema.Literal("tool"), content: TextContent, tool_call_id: Schema.String })
).annotations({ identifier: "OpenAiMessage" })

const Tool = Schema.Struct({
  type: Schema.Literal("function"),
  function: Schema.Struct({
    name: Schema.String.pipe(Schema.pattern(/^[A-Za-z0-9_-]{1,64}$/)),
    description: optional(Schema.String),
    parameters: optional(Schema.Record({ key: Schema.String, value: Schema.Unknown }))
  })
}).annotations({ identifier: "OpenAiTool" })

const ToolChoice = Schema.Union(
  Schema.Literal("none", "auto", "required"),
  Schema.Struct({ type: Schema.Literal("function"), function: Schema.Struct({ name: Schema.String }) })
)

const Penalty = Schema.Number.pipe(Schema.between(-2, 2))
const Limit = Schema.Int.pipe(Schema.positive())

export const OpenAiCompletionPayload = payload({
  model: ModelName,
  messages: Schema.NonEmptyArray(CompletionMessage).annotations(namesFirstItem),
  stream: optional(Schema.Boolean),
  stream_options: optional(Schema.Struct({ include_usage: optional(Schema.Boolean) })),
  tools: optional(Schema.Array(Tool).annotations(namesFirstItem).pipe(Schema.maxItems(128))),
  tool_choice: optional(ToolChoice),
  parallel_tool_calls: optional(Schema.Boolean),
  response_format: optional(ResponseFormatBody),
  temperature: optional(Schema.Number.pipe(Schema.between(0, 2))),
  top_p: optional(Schema.Number.pipe(Schema.between(0, 1))),
  max_tokens: optional(Limit),
  max_completion_tokens: optional(Limit),
  stop: optional(
    Schema.Union(Schema.String, Schema.Array(Schema.String).annotations(namesFirstItem).pipe(Schema.maxItems(4)))
  ),
  seed: optional(Schema.Int),
  frequency_penalty: optional(Penalty),
  presence_penalty: optional(Penalty),
  n: optional(Schema.Int.pipe(Schema.positive())),
  // Unsupported members that would change an answer; rejected by name.
  logprobs: optional(Schema.Boolean),
  top_logprobs: optional(Schema.Int),
  logit_bias: optional(Schema.Record({ key: Schema.String, value: Schema.Unknown })),
  modalities: optional(Schema.Array(Schema.String).annotations(namesFirstItem)),
  audio: optional(Schema.Unknown),
  functions: optional(Schema.Array(Schema.Unknown)),
  function_call: optional(Schema.Unknown),
  reasoning_effort: optional(Schema.Unknown),
  verbosity: optional(Schema.Unknown),
  web_search_options: optional(Schema.Unknown)
}).annotations({ identifier: "OpenAiCompletionRequest" })
export type OpenAiCompletionPayload = typeof OpenAiCompletionPayload.Type

const detail = <Fields extends Schema.Struct.Fields>(fields: Fields) =>
  Schema.optional(Schema.Struct(fields)).annotations({ description: "Absent if the provider does not report it" })

export const CompletionUsage = Schema.Struct({
  prompt_tokens: Schema.Int,
  completion_tokens: Schema.Int,
  total_tokens: Schema.Int,
  prompt_tokens_details: detail({ cached_tokens: Schema.Int }),
  completion_tokens_details: detail({ reasoning_tokens: Schema.Int }),
  cost: Schema.Number.annotations({ description: "US dollars, by catalog prices" })
}).annotations({ identifier: "OpenAiUsage" })
export type CompletionUsage = typeof CompletionUsage.Type

export const OpenAiCompletion = Schema.Struct({
  id: Schema.String,
  object: Schema.Literal("chat.completion"),
  created: Schema.Int.annotations({ description: "Seconds since 1970" }),
  model: Schema.String,
  choices: Schema.Array(
    Schema.Struct({
      index: Schema.Int,
      message: Schema.Struct({
        role: Schema.Literal("assistant"),
        content: Schema.NullOr(Schema.String),
        refusal: Schema.Null,
        tool_calls: Schema.optionalWith(Schema.Array(ToolCallBody), { exact: true })
      }),
      logprobs: Schema.Null,
      finish_reason: Schema.String
    })
  ),
  usage: Schema.optional(CompletionUsage).annotations({ description: "Absent in answers of agents" })
}).annotations({ identifier: "OpenAiCompletion" })
export type OpenAiCompletion = typeof OpenAiCompletion.Type

const createCompletion = HttpApiEndpoint.post("createCompletion", "/v1/chat/completions")
  .setPayload(OpenAiCompletionPayload)
  .addSuccess(OpenAiCompletion)
  .addSuccess(EventStream)
  .addError(ParameterUnsupportedBody)
  .addError(ModelNotFoundBody)
  .addError(ModelsUnavailableBody)
  .addError(ProviderFailedBody)
  .annotate(OpenApi.Summary, "Create a chat completion")

export const OpenAiModel = Schema.Struct({
  id: Schema.String,
  object: Schema.Literal("model"),
  created: Schema.Int.annotations({
    description: "Seconds since 1970 for agents; 0 for other models"
  }),
  owned_by: Schema.String.annotations({ description: "The model's vendor" })
}).annotations({ identifier: "OpenAiModel" })

export const listModels = HttpApiEndpoint.get("listModels", "/v1/models")
  .addSuccess(Schema.Struct({ object: Schema.Literal("list"), data: Schema.Array(OpenAiModel) }))
  .annotate(OpenApi.Summary, "List models")

/** A percent-encoded id, or a name without its vendor. */
export const retrieveModel = HttpApiEndpoint.get("retrieveModel", "/v1/models/:id")
  .setPath(Schema.Struct({ id: Schema.String }))
  .addSuccess(OpenAiModel)
  .addError(ModelNotFoundBody)
  .annotate(OpenApi.Summary, "Retrieve a model")

export const retrieveModelOfVendor = HttpApiEndpoint.get("retrieveModelOfVendor", "/v1/models/:vendor/:name")
  .setPath(Schema.Struct({ vendor: Schema.String, name: Schema.String }))
  .addSuccess(OpenAiModel)
  .addError(ModelNotFoundBody)
  .annotate(OpenApi.Summary, "Retrieve a model by vendor and name")

/** On the private listener. */
export class OpenAiApi extends HttpApiGroup.make("openAi")
  .add(createCompletion)
  .add(listModels)
  .add(retrieveModel)
  .add(retrieveModelOfVendor)
  .middlewareEndpoints(AiAccess)
  .annotateEndpointsContext(documentErrors)
  .addError(InternalFailureBody) {}
