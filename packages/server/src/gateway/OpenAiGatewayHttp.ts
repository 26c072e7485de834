import { conversationHeader } from "@berth/api/gateway/OpenAiGatewayApi"
import { WebApi } from "@berth/api/WebApi"
import { Agents } from "@berth/domain/agents/Agents"
import { ModelNotFound } from "@berth/domain/ai/models/ModelErrors"
import { ChargedEmbeddings } from "@berth/domain/gateway/embeddings/ChargedEmbeddings"
import { ModelAnswers } from "@berth/domain/gateway/plugins/ModelAnswers"
import { collectResult } from "@berth/domain/gateway/plugins/PluginRun"
import { RateLimiter } from "@berth/domain/limits/RateLimiter"
import { Principal, requireScope } from "@berth/domain/sessions/Principal"
import { HttpServerResponse } from "@effect/platform"
import { Effect, Either, Encoding } from "effect"
import { group } from "../http/ApiGroup.ts"
import { toAgentPayload, toCompletionPayload } from "../ai/ResponseRequest.ts"
import { listModel } from "../ai/OpenAiHttp.ts"
import { listAgentModel } from "./AgentCompletions.ts"
import { readContent } from "./CallContent.ts"
import { makeChatFormat } from "./CompletionFormat.ts"
import { makeOpenAiCalls } from "./OpenAiCalls.ts"
import { makeResponseCalls } from "./ResponseCalls.ts"
import { readSpeechRequest } from "./SpeechRequest.ts"
import { readTranscriptFormat } from "./TranscriptFormat.ts"

const decodeVector = (vector: string) => {
  const bytes = new Uint8Array(Buffer.from(vector, "base64"))
  return Array.from(new Float32Array(bytes.buffer, 0, Math.floor(bytes.length / 4)))
}

export const layer = group(WebApi, "openAiGateway", (handlers) =>
  Effect.gen(function* () {
    const limiter = yield* RateLimiter
    const embeddings = yield* ChargedEmbeddings
    const { answer, call, refuse } = yield* makeOpenAiCalls
    const answers = yield* ModelAnswers
    const agents = yield* Agents
    const responses = yield* makeResponseCalls

    const listModels = Effect.gen(function* () {
      const principal = yield* Principal
      const owned = Either.isRight(requireScope(principal, "chat"))
        ? (yield* agents.list(principal.user.id)).map(listAgentModel)
        : []
      return [...owned, ...(yield* answers.models).map((id) => listModel({ id }))]
    })
    const findModel = (id: string) =>
      Effect.flatMap(listModels, (models) => {
        const match = models.find((model) => model.id === id)
        return match === undefined ? Effect.fail(new ModelNotFound({ model: id })) : Effect.succeed(match)
      })

    return handlers
      .handle("createChatCompletion", ({ headers, payload }) =>
        answer(payload.model, headers[conversationHeader], () =>
          Effect.succeed({ completion: payload, format: makeChatFormat(payload) })
        )
      )
      .handle("createResponse", ({ headers, payload }) =>
        answer(payload.model, headers[conversationHeader], (user, isAgent) =>
          Effect.gen(function* () {
            if (isAgent) {
              const completion = yield* toAgentPayload(payload)
              return { completion, format: responses.makeAgentFormat(payload) }
            }
            const { before, input } = yield* responses.resolveItems(user.id, payload)
            const completion = yield* toCompletionPayload(payload, [...before, ...input])
            return { completion, format: responses.makeModelFormat(user.id, payload, input) }
          })
        )
      )
      .handle("retrieveResponse", ({ path: { id }, urlParams }) => responses.find(id, urlParams))
      .handle("listResponseInput", ({ path: { id }, urlParams }) => responses.listInput(id, urlParams))
      .handle("deleteResponse", ({ path: { id } }) => responses.remove(id))
      .handle("createEmbedding", ({ payload: { dimensions, encoding_format: format, input: texts, model } }) =>
        Effect.gen(function* () {
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
        }).pipe(
          Effect.catchIf(
            (failure) => failure._tag !== "UnitsExhausted" && failure._tag !== "BudgetExceeded",
            (failure) => Effect.succeed(refuse(failure, model))
          )
        )
      )
      .handleRaw("createSpeech", ({ request: received }) =>
        Effect.gen(function* () {
          const { user } = yield* Principal
          yield* limiter.take("gateway", user.id)
          const input = yield* readSpeechRequest("tts", yield* yield* readContent(received))
          const { audioType, message } = yield* collectResult((yield* call(user, input)).events)
          const audio = yield* Effect.orDie(Encoding.decodeBase64(message))
          return HttpServerResponse.uint8Array(audio, { contentType: audioType ?? "application/octet-stream" })
        }).pipe(Effect.catchAll((failure) => Effect.succeed(refuse(failure))))
      )
      .handleRaw("createTranscription", ({ request: received }) =>
        Effect.gen(function* () {
          const { user } = yield* Principal
          yield* limiter.take("gateway", user.id)
          const content = yield* yield* readContent(received)
          const write = yield* readTranscriptFormat(content)
          const input = yield* readSpeechRequest("stt", content)
          return write((yield* collectResult((yield* call(user, input)).events)).message)
        }).pipe(Effect.catchAll((failure) => Effect.succeed(refuse(failure))))
      )
      .handle("listModels", () => Effect.map(listModels, (data) => ({ object: "list" as const, data })))
      .handle("retrieveModel", ({ path }) => findModel(path.id))
      .handle("retrieveModelOfVendor", ({ path }) => findModel(`${path.vendor}/${path.name}`))
  })
)
