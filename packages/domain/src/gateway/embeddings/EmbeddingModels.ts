import { Either } from "effect"
import { computeMediaCost } from "../../ai/models/MediaPrices.ts"
import { PluginInputInvalid } from "../plugins/PluginRun.ts"

/** The id of a model, which callers may name without its vendor. */
export const resolveEmbeddingModel = (model: string): string => (model.includes("/") ? model : `openai/${model}`)

/** The cost of so many tokens in US dollars; fails for a model that is not sold. */
export const quoteEmbedding = (model: string, tokens: number): Either.Either<number, PluginInputInvalid> =>
  Either.fromOption(
    computeMediaCost(resolveEmbeddingModel(model), "embedding", tokens),
    () => new PluginInputInvalid({ field: "model", reason: `There is no embedding model ${model}` })
  )
