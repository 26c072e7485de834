import { Schema } from "effect"

/** The model providers, in the order in which a model's providers are tried. */
export const ProviderName = Schema.Literal(
  "openrouter",
  "anthropic",
  "openai",
  "google",
  "groq",
  "sandbox"
).annotations({
  identifier: "ProviderName"
})
export type ProviderName = typeof ProviderName.Type

export const TaskType = Schema.Literal("general", "coding", "analysis", "creative", "fast", "vision")
export type TaskType = typeof TaskType.Type

export const Model = Schema.Struct({
  /** `<vendor>/<name>`, for example anthropic/claude-opus-4-6. */
  id: Schema.String,
  name: Schema.String,
  provider: ProviderName,
  description: Schema.String,
  tags: Schema.Array(Schema.String),
  /** US dollars per million tokens. */
  inputCost: Schema.Number,
  outputCost: Schema.Number,
  /** Tokens. */
  contextWindow: Schema.Int,
  /** Whether a configured provider runs the model. */
  available: Schema.Boolean,
  /** Absent if unknown, like `maxOutputTokens`. */
  takesTools: Schema.optionalWith(Schema.Boolean, { exact: true }),
  /** Maximum tokens of an answer. */
  maxOutputTokens: Schema.optionalWith(Schema.Int.pipe(Schema.positive()), { exact: true })
}).annotations({ identifier: "Model" })
export type Model = typeof Model.Type
