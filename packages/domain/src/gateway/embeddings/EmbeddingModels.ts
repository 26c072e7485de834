import { Either, Option } from "effect"
import { computeMediaCost } from "../../ai/models/MediaPrices.ts"
import { PluginInputInvalid } from "../plugins/PluginRun.ts"

/** The one provider of embeddings. */
export const embeddingProvider = "openai"

/** The id of a model, which callers may name without its vendor. */
export const resolveEmbeddingModel = (model: string): string =>
  model.includes("/") ? model : `${embeddingProvider}/${model}`

/** The cost of so many tokens in US dollars; fails for models of other providers and without a list price. */
export const quoteEmbedding = (model: string, tokens: number): Either.Either<number, PluginInputInvalid> =>
  Either.fromOption(
    Option.filter(computeMediaCost(resolveEmbeddingModel(model), "embedding", tokens), () =>
      resolveEmbeddingModel(model).startsWith(`${embeddingProvider}/`)
    ),
    () => new PluginInputInvalid({ field: "model", reason: `There is no embedding model ${model}` })
  )
