import { EmbeddingPayload } from "@berth/api/ai/EmbeddingBodies"
import { OpenAiCompletionPayload } from "@berth/api/ai/OpenAiApi"
import { ResponsePayload } from "@berth/api/ai/ResponsesApi"
import { conversationHeader } from "@berth/api/gateway/OpenAiGatewayApi"
import { WebApi } from "@berth/api/WebApi"
import { Agents } from "@berth/domain/agents/Agents"
import { ModelNotFound } from "@berth/domain/ai/models/ModelErrors"
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
import { makeEmbeddingAnswer } from "./EmbeddingAnswer.ts"
import { makeOpenAiCalls } from "./OpenAiCalls.ts"
import { makeResponseCalls } from "./ResponseCalls.ts"
import { readSpeechRequest } from "./SpeechRequest.ts"
import { readTranscriptFormat } from "./TranscriptFormat.ts"

export const layer = group(WebApi, "openAiGateway", (handlers) =>
  Effect.gen(function* () {
    const limiter = yield* RateLimiter
    const embed = yield* makeEmbeddingAnswer
    const { answer, call, refuse, withPayload } = yield* makeOpenAiCalls
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

    const withCompletion = withPayload(OpenAiCompletionPayload)
    const withResponse = withPayload(ResponsePayload)
    const withEmbedding = withPayload(EmbeddingPayload)

    return handlers
      .handleRaw("createChatCompletion", ({ headers, request }) =>
        withCompletion(request, (payload) =>
          answer(payload.model, headers[conversationHeader], () =>
            Effect.succeed({ completion: payload, format: makeChatFormat(payload) })
          )
        )
      )
      .handleRaw("createResponse", ({ headers, request }) =>
        withResponse(request, (payload) =>
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
      )
      .handle("retrieveResponse", ({ path: { id }, urlParams }) => responses.find(id, urlParams))
      .handle("listResponseInput", ({ path: { id }, urlParams }) => responses.listInput(id, urlParams))
      .handle("deleteResponse", ({ path: { id } }) => responses.remove(id))
      .handleRaw("createEmbedding", ({ request }) =>
        withEmbedding(request, (payload) =>
          embed(payload).pipe(
            Effect.catchIf(
              (failure) => failure._tag !== "UnitsExhausted" && failure._tag !== "BudgetExceeded",
              (failure) => Effect.succeed(refuse(failure, payload.model))
            )
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
