import { Either, Option } from "effect"
import { computeMediaCost } from "../../ai/models/MediaPrices.ts"
import { PluginInputInvalid } from "../plugins/PluginRun.ts"

export const embeddingProvider = "openai"

/** Returns the full id of a model; callers may omit its vendor. */
export const resolveEmbeddingModel = (model: string): string =>
  model.includes("/") ? model : `${embeddingProvider}/${model}`

/**
 * Returns the cost of the tokens in US dollars; fails for models of other providers and for models without a list
 * price.
 */
export const quoteEmbedding = (model: string, tokens: number): Either.Either<number, PluginInputInvalid> =>
  Either.fromOption(
    Option.filter(computeMediaCost(resolveEmbeddingModel(model), "embedding", tokens), () =>
      resolveEmbeddingModel(model).startsWith(`${embeddingProvider}/`)
    ),
    () => new PluginInputInvalid({ field: "model", reason: `There is no embedding model ${model}` })
  )
