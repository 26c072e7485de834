import type { EmbeddingPayload } from "@berth/api/ai/EmbeddingBodies"
import { ChargedEmbeddings } from "@berth/domain/gateway/embeddings/ChargedEmbeddings"
import { RateLimiter } from "@berth/domain/limits/RateLimiter"
import { Principal } from "@berth/domain/sessions/Principal"
import { HttpServerResponse } from "@effect/platform"
import { Effect } from "effect"

const decodeVector = (vector: string) => {
  const bytes = new Uint8Array(Buffer.from(vector, "base64"))
  return Array.from(new Float32Array(bytes.buffer, 0, Math.floor(bytes.length / 4)))
}

/** Answers with embeddings in OpenAI's format, charged to the caller. */
export const makeEmbeddingAnswer = Effect.gen(function* () {
  const limiter = yield* RateLimiter
  const embeddings = yield* ChargedEmbeddings
  return Effect.fnUntraced(function* (payload: typeof EmbeddingPayload.Type) {
    const { dimensions, encoding_format: format, input: texts, model } = payload
    const { user } = yield* Principal
    yield* limiter.take("gateway", user.id)
    const input = typeof texts === "string" ? [texts] : texts
    const { tokens, vectors } = yield* embeddings.embed(user, { model, input, dimensions })
    return HttpServerResponse.unsafeJson({
      object: "list",
      data: vectors.map((vector, index) => ({
        object: "embedding",
        index,
        embedding: format === "base64" ? vector : decodeVector(vector)
      })),
      model,
      usage: { prompt_tokens: tokens, total_tokens: tokens }
    })
  })
})
