import { Model } from "@berth/domain/ai/models/Model"
import { BigDecimal, Option, Schema, Struct } from "effect"
import { fromOpenRouterModelId } from "../openai/OpenAiModelName.ts"
import { deriveModelTags } from "./ModelTags.ts"

export const ModelFacts = Schema.Struct(Struct.omit(Model.fields, "provider", "available"))
export type ModelFacts = typeof ModelFacts.Type

/** Entry of OpenRouter's GET /models. Prices are US dollars per token, as decimals. */
const OpenRouterModel = Schema.Struct({
  id: Schema.NonEmptyString,
  name: Schema.optional(Schema.NullOr(Schema.String)),
  description: Schema.optional(Schema.NullOr(Schema.String)),
  context_length: Schema.Int.pipe(Schema.positive()),
  pricing: Schema.Struct({ prompt: Schema.String, completion: Schema.String }),
  architecture: Schema.optional(
    Schema.NullOr(
      Schema.Struct({
        input_modalities: Schema.optional(Schema.NullOr(Schema.Array(Schema.String))),
        output_modalities: Schema.optional(Schema.NullOr(Schema.Array(Schema.String)))
      })
    )
  ),
  supported_parameters: Schema.optional(Schema.NullOr(Schema.Array(Schema.String))),
  top_provider: Schema.optional(
    Schema.NullOr(Schema.Struct({ max_completion_tokens: Schema.optional(Schema.Unknown) }))
  )
})

const million = BigDecimal.fromBigInt(1_000_000n)

// Negative prices mean variable ones.
const isPrice = (text: string) => /^\d+(\.\d+)?(e[+-]?\d+)?$/i.test(text)

/** Converts to US dollars per million tokens, rounded to nine places. */
export const toPricePerMillion = (perToken: string): Option.Option<number> =>
  Option.liftPredicate(perToken.trim(), isPrice).pipe(
    Option.flatMap(BigDecimal.fromString),
    Option.map((price) =>
      BigDecimal.unsafeToNumber(BigDecimal.round(BigDecimal.multiply(price, million), { scale: 9 }))
    )
  )

const maximumDescriptionLength = 300

const shorten = (text: string) =>
  text.length <= maximumDescriptionLength ? text : `${text.slice(0, maximumDescriptionLength).replace(/\s+\S*$/, "")}…`

/** "Anthropic: Claude Opus 4.6" without the vendor. */
const withoutVendor = (name: string) => name.replace(/^[^:]{1,40}: /, "")

const takesToolsOf = (parameters: ReadonlyArray<string> | null | undefined) =>
  parameters === null || parameters === undefined ? {} : { takesTools: parameters.includes("tools") }

const isTokenLimit = Schema.is(Schema.Int.pipe(Schema.positive()))

const maxOutputTokensOf = (limit: unknown) => (isTokenLimit(limit) ? { maxOutputTokens: limit } : {})

const isLatestAlias = (id: string) => id.startsWith("~")

/** `other`: without text output or a fixed price, or an alias of another model. */
type OpenRouterEntry =
  | { readonly type: "model"; readonly facts: ModelFacts }
  | { readonly type: "other" }
  | { readonly type: "malformed"; readonly id: string }

const decodeModel = Schema.decodeUnknownOption(OpenRouterModel)
const decodeId = Schema.decodeUnknownOption(Schema.Struct({ id: Schema.NonEmptyString }))

// Limit for logged ids of malformed entries.
const maximumLoggedIdLength = 100

export const readOpenRouterEntry = (entry: unknown): OpenRouterEntry =>
  Option.match(decodeModel(entry), {
    onNone: (): OpenRouterEntry => ({
      type: "malformed",
      id: Option.match(decodeId(entry), {
        onNone: () => "without an id",
        onSome: ({ id }) => id.slice(0, maximumLoggedIdLength)
      })
    }),
    onSome: (model) =>
      Option.match(readModelFacts(model), {
        onNone: (): OpenRouterEntry => ({ type: "other" }),
        onSome: (facts) => ({ type: "model", facts })
      })
  })

export const readOpenRouterModel = (entry: unknown): Option.Option<ModelFacts> => {
  const reading = readOpenRouterEntry(entry)
  return reading.type === "model" ? Option.some(reading.facts) : Option.none()
}

const readModelFacts = (model: typeof OpenRouterModel.Type): Option.Option<ModelFacts> =>
  Option.gen(function* () {
    const inputs = model.architecture?.input_modalities ?? ["text"]
    const outputs = model.architecture?.output_modalities ?? ["text"]
    if (isLatestAlias(model.id) || !inputs.includes("text") || outputs.some((kind) => kind !== "text")) {
      return yield* Option.none()
    }
    const facts = {
      id: fromOpenRouterModelId(model.id),
      name: withoutVendor(model.name ?? model.id),
      description: shorten(model.description ?? ""),
      inputCost: yield* toPricePerMillion(model.pricing.prompt),
      outputCost: yield* toPricePerMillion(model.pricing.completion),
      contextWindow: model.context_length,
      ...takesToolsOf(model.supported_parameters),
      ...maxOutputTokensOf(model.top_provider?.max_completion_tokens)
    }
    return {
      ...facts,
      tags: deriveModelTags({
        ...facts,
        seesImages: inputs.includes("image"),
        reasons: model.supported_parameters?.includes("reasoning") ?? false
      })
    }
  })
