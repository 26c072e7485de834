import { Schema } from "effect"
import { ContentPart } from "./ContentPart.ts"
import { ProviderName } from "../models/Model.ts"

/** Opaque data that a model requires back with its call; valid for the same provider and model only. */
export const CallSignature = Schema.Struct({
  provider: ProviderName,
  /** A model's id. */
  model: Schema.String,
  data: Schema.String
}).annotations({ identifier: "CallSignature" })
export type CallSignature = typeof CallSignature.Type

/** A tool call of a model; `arguments` is JSON text and can be invalid. */
export const ToolCall = Schema.Struct({
  id: Schema.String,
  name: Schema.String,
  arguments: Schema.String,
  signature: Schema.optionalWith(CallSignature, { exact: true })
}).annotations({ identifier: "ToolCall" })
export type ToolCall = typeof ToolCall.Type

/** Accepted by every provider. */
export const toolNamePattern = /^[A-Za-z0-9_-]{1,64}$/

/** The declaration of a tool; `parameters` is a JSON Schema of type object. */
export const ToolSpec = Schema.Struct({
  name: Schema.String.pipe(Schema.pattern(toolNamePattern)),
  description: Schema.String,
  parameters: Schema.Record({ key: Schema.String, value: Schema.Unknown })
}).annotations({ identifier: "ToolSpec" })
export type ToolSpec = typeof ToolSpec.Type

/** A message of a conversation. Tool results follow the assistant message that called the tool. */
export const ChatMessage = Schema.Union(
  Schema.Struct({ role: Schema.Literal("system"), content: Schema.String }),
  Schema.Struct({
    role: Schema.Literal("user"),
    content: Schema.String,
    /** Text and images in order; `content` is the text (`joinTextParts`). */
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
    toolCallId: Schema.String,
    toolName: Schema.String
  })
).annotations({ identifier: "ChatMessage" })
export type ChatMessage = typeof ChatMessage.Type

export type ToolChoice = "auto" | "none" | "required" | { readonly name: string }

/** `strict`: the vendor enforces the schema. */
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
  readonly tools?: ReadonlyArray<ToolSpec> | undefined
  /** Requires tools. */
  readonly toolChoice?: ToolChoice | undefined
  /** Default: the vendor's. */
  readonly parallelToolCalls?: boolean | undefined
  /** Default: plain text. */
  readonly responseFormat?: ResponseFormat | undefined
  readonly temperature?: number | undefined
  readonly topP?: number | undefined
  readonly maxTokens?: number | undefined
  /** Texts that end an answer; the answer excludes them. */
  readonly stop?: ReadonlyArray<string> | undefined
  /** Only for vendors that support it, like the penalties. */
  readonly seed?: number | undefined
  readonly frequencyPenalty?: number | undefined
  readonly presencePenalty?: number | undefined
}

export interface TokenUsage {
  readonly promptTokens: number
  readonly completionTokens: number
  readonly totalTokens: number
  /** Cached part of the prompt; absent if the provider does not report it. */
  readonly cachedTokens?: number | undefined
  /** Part of the completion that is not output, such as thoughts; absent if the provider does not report it. */
  readonly reasoningTokens?: number | undefined
}
