import { Data, Schema } from "effect"
import { fieldsErrorBody } from "../http/ErrorBody.ts"
import { pageNumber } from "../http/Pagination.ts"
import { ModelName, payload } from "../http/Payload.ts"
import { ImageUrl } from "./ChatContent.ts"

/* The subset of OpenAI's Responses protocol that chat completions support. Undeclared members are ignored. */

const optional = <A, I>(schema: Schema.Schema<A, I>) => Schema.optionalWith(schema, { nullable: true })

const Text = Schema.Struct({ type: Schema.Literal("input_text", "output_text"), text: Schema.String })
const Refusal = Schema.Struct({ type: Schema.Literal("refusal"), refusal: Schema.String })
const Image = Schema.Struct({
  type: Schema.Literal("input_image"),
  image_url: ImageUrl,
  detail: optional(Schema.Literal("auto", "low", "high"))
})

const message = <Role extends string, A, I>(roles: Schema.Schema<Role>, parts: Schema.Schema<A, I>) =>
  Schema.Struct({
    type: optional(Schema.Literal("message")),
    id: optional(Schema.String),
    role: roles,
    content: Schema.Union(Schema.String, Schema.NonEmptyArray(parts))
  })

const FunctionCall = Schema.Struct({
  type: Schema.Literal("function_call"),
  id: optional(Schema.String),
  call_id: Schema.String,
  name: Schema.String,
  arguments: Schema.String
})

const FunctionCallOutput = Schema.Struct({
  type: Schema.Literal("function_call_output"),
  call_id: Schema.String,
  output: Schema.Union(Schema.String, Schema.Array(Text))
})

/** An item with content, as opposed to an id only. */
export const ResponseItem = Schema.Union(
  message(Schema.Literal("system", "developer"), Text),
  message(Schema.Literal("user"), Schema.Union(Text, Image)),
  message(Schema.Literal("assistant"), Schema.Union(Text, Refusal)),
  FunctionCall,
  FunctionCallOutput
).annotations({ identifier: "ResponseItem" })
export type ResponseItem = typeof ResponseItem.Type

/** Reference to an item of an earlier answer. */
const ItemReference = Schema.Struct({ type: Schema.Literal("item_reference"), id: Schema.String })

const Tool = Schema.Struct({
  type: Schema.Literal("function"),
  name: Schema.String.pipe(Schema.pattern(/^[A-Za-z0-9_-]{1,64}$/)),
  description: optional(Schema.String),
  parameters: optional(Schema.Record({ key: Schema.String, value: Schema.Unknown })),
  strict: optional(Schema.Boolean)
}).annotations({ identifier: "ResponseTool" })

const TextFormat = Schema.Union(
  Schema.Struct({ type: Schema.Literal("text", "json_object") }),
  Schema.Struct({
    type: Schema.Literal("json_schema"),
    name: Schema.String.pipe(Schema.pattern(/^[A-Za-z0-9_-]{1,64}$/)),
    description: optional(Schema.String),
    schema: Schema.Record({ key: Schema.String, value: Schema.Unknown }),
    strict: optional(Schema.Boolean)
  })
)

export const ResponsePayload = payload({
  model: ModelName,
  input: Schema.Union(Schema.String, Schema.NonEmptyArray(Schema.Union(ResponseItem, ItemReference))),
  instructions: optional(Schema.String),
  previous_response_id: optional(Schema.String),
  store: optional(Schema.Boolean).annotations({
    description: "Default true: the answer can be continued by its id for 30 days"
  }),
  stream: optional(Schema.Boolean),
  tools: optional(Schema.Array(Tool).pipe(Schema.maxItems(128))),
  tool_choice: optional(
    Schema.Union(
      Schema.Literal("none", "auto", "required"),
      Schema.Struct({ type: Schema.Literal("function"), name: Schema.String })
    )
  ),
  parallel_tool_calls: optional(Schema.Boolean),
  text: optional(Schema.Struct({ format: optional(TextFormat), verbosity: optional(Schema.Unknown) })),
  temperature: optional(Schema.Number.pipe(Schema.between(0, 2))),
  top_p: optional(Schema.Number.pipe(Schema.between(0, 1))),
  max_output_tokens: optional(Schema.Int.pipe(Schema.positive())),
  metadata: optional(Schema.Record({ key: Schema.String, value: Schema.String })),
  // Unsupported members that would change an answer; rejected by name.
  background: optional(Schema.Boolean),
  conversation: optional(Schema.Unknown),
  prompt: optional(Schema.Unknown),
  reasoning: optional(Schema.Record({ key: Schema.String, value: Schema.Unknown })),
  truncation: optional(Schema.String),
  max_tool_calls: optional(Schema.Int),
  include: optional(Schema.Array(Schema.String)),
  top_logprobs: optional(Schema.Int)
}).annotations({ identifier: "ResponseRequest" })
export type ResponsePayload = typeof ResponsePayload.Type

const Status = Schema.Literal("in_progress", "completed", "incomplete", "failed")

export const ResponseOutputItem = Schema.Union(
  Schema.Struct({
    type: Schema.Literal("message"),
    id: Schema.String,
    status: Status,
    role: Schema.Literal("assistant"),
    content: Schema.Array(
      Schema.Struct({
        type: Schema.Literal("output_text"),
        text: Schema.String,
        annotations: Schema.Array(Schema.Unknown),
        logprobs: Schema.Array(Schema.Unknown)
      })
    )
  }),
  Schema.Struct({
    type: Schema.Literal("function_call"),
    id: Schema.String,
    status: Status,
    call_id: Schema.String,
    name: Schema.String,
    arguments: Schema.String
  })
).annotations({ identifier: "ResponseOutputItem" })
export type ResponseOutputItem = typeof ResponseOutputItem.Type

const ResponseUsage = Schema.Struct({
  input_tokens: Schema.Int,
  input_tokens_details: Schema.Struct({ cached_tokens: Schema.Int }),
  output_tokens: Schema.Int,
  output_tokens_details: Schema.Struct({ reasoning_tokens: Schema.Int }),
  total_tokens: Schema.Int,
  cost: Schema.Number.annotations({ description: "US dollars, by catalog prices" })
}).annotations({ identifier: "ResponseUsage" })

export const ModelResponse = Schema.Struct({
  id: Schema.String,
  object: Schema.Literal("response"),
  created_at: Schema.Int.annotations({ description: "Seconds since 1970" }),
  status: Status,
  error: Schema.NullOr(Schema.Struct({ code: Schema.String, message: Schema.String })),
  incomplete_details: Schema.NullOr(Schema.Struct({ reason: Schema.String })),
  model: Schema.String,
  output: Schema.Array(ResponseOutputItem),
  usage: Schema.NullOr(ResponseUsage).annotations({ description: "Null in answers of agents" }),
  previous_response_id: Schema.NullOr(Schema.String),
  store: Schema.Boolean.annotations({ description: "Whether the answer can be continued by its id" }),
  instructions: Schema.NullOr(Schema.String),
  metadata: Schema.Record({ key: Schema.String, value: Schema.String }),
  tools: Schema.Array(Schema.Unknown),
  tool_choice: Schema.Unknown,
  parallel_tool_calls: Schema.Boolean,
  text: Schema.Unknown,
  temperature: Schema.NullOr(Schema.Number),
  top_p: Schema.NullOr(Schema.Number),
  max_output_tokens: Schema.NullOr(Schema.Int)
}).annotations({ identifier: "ModelResponse" })
export type ModelResponse = typeof ModelResponse.Type

const inputFields = { id: Schema.String, status: Schema.Literal("completed") }

/** Input item of a stored answer. */
export const ResponseInputItem = Schema.Union(
  Schema.Struct({
    ...inputFields,
    type: Schema.Literal("message"),
    role: Schema.Literal("system", "developer", "user", "assistant"),
    content: Schema.Array(Schema.Union(Text, Image, Refusal))
  }),
  Schema.Struct({ ...FunctionCall.fields, ...inputFields }),
  Schema.Struct({ ...FunctionCallOutput.fields, ...inputFields })
).annotations({ identifier: "ResponseInputItem" })
export type ResponseInputItem = typeof ResponseInputItem.Type

export const ResponseInputItems = Schema.Struct({
  object: Schema.Literal("list"),
  data: Schema.Array(ResponseInputItem),
  first_id: Schema.NullOr(Schema.String),
  last_id: Schema.NullOr(Schema.String),
  has_more: Schema.Boolean
}).annotations({ identifier: "ResponseInputItems" })

export const ResponseInputQuery = Schema.Struct({
  limit: pageNumber({ least: 1, most: 100, usual: 20 }),
  order: Schema.optionalWith(Schema.Literal("asc", "desc"), { default: () => "desc" as const }),
  after: Schema.optional(Schema.String.annotations({ description: "Id of the item before the page" }))
})
export type ResponseInputQuery = typeof ResponseInputQuery.Type

/** The caller has no stored answer with this id. */
export class ResponseNotFound extends Data.TaggedError("ResponseNotFound")<{ readonly response: string }> {}

export const ResponseNotFoundBody = fieldsErrorBody(ResponseNotFound, {
  status: 404,
  error: "Response not found",
  message: "No stored response has this id. Send the earlier items in `input`.",
  members: Schema.Struct({ response: Schema.String }),
  example: { response: "resp_01jn8z5t7v" }
})
