import { Schema } from "effect"
import { ContentPart } from "./ContentPart.ts"
import { ProviderName } from "../models/Model.ts"

/** Opaque value that the issuing model requires back unchanged with its call. */
export const CallSignature = Schema.Struct({
  provider: ProviderName,
  /** A model's id. */
  model: Schema.String,
  data: Schema.String
}).annotations({ identifier: "CallSignature" })
export type CallSignature = typeof CallSignature.Type

/** A tool that a model wants used; `arguments` is the model's JSON text, which need not be valid. */
export const ToolCall = Schema.Struct({
  id: Schema.String,
  name: Schema.String,
  arguments: Schema.String,
  /** Goes back with the call as it came. */
  signature: Schema.optionalWith(CallSignature, { exact: true })
}).annotations({ identifier: "ToolCall" })
export type ToolCall = typeof ToolCall.Type

/** A tool as a model is told of it; `parameters` is a JSON Schema of the arguments, an object. */
export const ToolSpec = Schema.Struct({
  /** Letters, digits, underscores and dashes, 64 at most: what every provider takes. */
  name: Schema.String.pipe(Schema.pattern(/^[A-Za-z0-9_-]{1,64}$/)),
  description: Schema.String,
  parameters: Schema.Record({ key: Schema.String, value: Schema.Unknown })
}).annotations({ identifier: "ToolSpec" })
export type ToolSpec = typeof ToolSpec.Type

/** A message of a conversation. What a tool gave follows the assistant's message that called it. */
export const ChatMessage = Schema.Union(
  Schema.Struct({ role: Schema.Literal("system"), content: Schema.String }),
  Schema.Struct({
    role: Schema.Literal("user"),
    content: Schema.String,
    /** Content with images in place; `content` is its text (`textIn`). */
    parts: Schema.optionalWith(Schema.Array(ContentPart), { exact: true })
  }),
  Schema.Struct({
    role: Schema.Literal("assistant"),
    content: Schema.String,
    toolCalls: Schema.optionalWith(Schema.Array(ToolCall), { exact: true })
  }),
  Schema.Struct({
    role: Schema.Literal("tool"),
    content: Schema.String,
    /** Id and name of the call that this answers. */
    toolCallId: Schema.String,
    toolName: Schema.String
  })
).annotations({ identifier: "ChatMessage" })
export type ChatMessage = typeof ChatMessage.Type

/** Which tool is to be called: as the model likes, none, any, or one by its name. */
export type ToolChoice = "auto" | "none" | "required" | { readonly name: string }

/** The form of an answer. `json-schema`: by a JSON Schema; `strict` where the vendor is to hold the model to it. */
export type ResponseFormat =
  | { readonly type: "json-object" }
  | {
      readonly type: "json-schema"
      readonly name: string
      readonly description?: string | undefined
      readonly schema: Readonly<Record<string, unknown>>
      readonly strict?: boolean | undefined
    }

export interface ChatOptions {
  /** Tools that the model may call; none when absent. */
  readonly tools?: ReadonlyArray<ToolSpec> | undefined
  /** Means something beside tools alone. */
  readonly toolChoice?: ToolChoice | undefined
  /** Whether several tools may be called at once; as the vendor has it when absent. */
  readonly parallelToolCalls?: boolean | undefined
  /** Plain text when absent. */
  readonly responseFormat?: ResponseFormat | undefined
  readonly temperature?: number | undefined
  readonly topP?: number | undefined
  readonly maxTokens?: number | undefined
  /** Texts that end an answer, which does not hold them. */
  readonly stop?: ReadonlyArray<string> | undefined
  /** For answers that are alike, where the vendor can. */
  readonly seed?: number | undefined
  readonly frequencyPenalty?: number | undefined
  readonly presencePenalty?: number | undefined
}

export interface TokenUsage {
  readonly promptTokens: number
  readonly completionTokens: number
  readonly totalTokens: number
}
