import { ProviderFailedBody } from "@berth/api/ai/AiErrorBodies"
import { type ChatAnswer, ChatPayload } from "@berth/api/ai/AiApi"
import { chatEventFrames } from "@berth/api/ai/ChatEvents"
import { makeChatRequest } from "@berth/api/ai/ChatMessageMapping"
import { isPlainChat } from "@berth/api/ai/PayloadFastPath"
import { BackendApi } from "@berth/api/BackendApi"
import { AiLayer } from "@berth/domain/ai/AiLayer"
import { catchReader } from "@berth/domain/ai/streams/ChunkReader"
import { HttpServerResponse } from "@effect/platform"
import { DateTime, Effect, Option, Schema } from "effect"
import { group } from "../http/ApiGroup.ts"
import type { DirectAnswer } from "../http/DirectRoutes.ts"
import { respondFrames } from "../http/SseResponse.ts"
import { withTraceId } from "../http/TraceId.ts"
import { toAiErrorResponse } from "./AiErrorResponses.ts"
import { makeAnswerHeaders, makeOpeningHeaders } from "./AnswerHeaders.ts"
import { addRetryAfter } from "../http/ResponseHeaders.ts"
import { makeChatAnswer, makeChatFrames } from "./ChatAnswers.ts"

const encodeFailure = Schema.encodeSync(ProviderFailedBody)

/** Answers POST /api/ai/chat. */
const answerChat = (ai: AiLayer) =>
  Effect.fnUntraced(
    function* (payload: typeof ChatPayload.Type) {
      const request = {
        ...makeChatRequest(payload),
        unknownModel: "refuse" as const,
        caller: { userId: null, agentId: null }
      }
      if (payload.stream === true) {
        // The request's scope ends with the response, or when the client disconnects.
        const { opening, read } = yield* ai.open(request)
        const frames = catchReader(makeChatFrames(opening, read), (failure) =>
          Effect.map(withTraceId(encodeFailure(failure)), chatEventFrames.error)
        )
        return respondFrames(Effect.succeed(frames), makeOpeningHeaders(opening))
      }
      const completion = yield* ai.complete(request)
      const now = yield* DateTime.now
      const shown: typeof ChatAnswer.Encoded = {
        ...makeChatAnswer(completion, now),
        timestamp: DateTime.formatIso(now)
      }
      return HttpServerResponse.unsafeJson(shown, { headers: makeAnswerHeaders(completion) })
    },
    Effect.tapErrorTag("ProviderFailed", addRetryAfter)
  )

export const layer = group(BackendApi, "ai", (handlers) =>
  Effect.gen(function* () {
    const ai = yield* AiLayer

    const answer = answerChat(ai)

    return handlers
      .handle("health", () =>
        Effect.gen(function* () {
          const { providers, status } = yield* ai.health()
          return { status, providers, timestamp: yield* DateTime.now }
        })
      )
      .handle("models", () =>
        Effect.gen(function* () {
          const { models, providers } = yield* ai.models()
          return { models, count: models.length, providers, timestamp: yield* DateTime.now }
        })
      )
      .handle("modelsOfProvider", ({ path }) =>
        Effect.gen(function* () {
          const { models, provider } = yield* ai.modelsOf(path.provider)
          return { provider, models, count: models.length, timestamp: yield* DateTime.now }
        })
      )
      .handle("selectModel", ({ payload }) =>
        Effect.gen(function* () {
          const { model, taskType } = yield* ai.select(payload.taskType)
          return { model: { id: model.id, provider: model.provider }, taskType, timestamp: yield* DateTime.now }
        })
      )
      .handle("chat", ({ payload }) => answer(payload))
      .handle("estimateCost", ({ payload: { inputTokens, model, outputTokens } }) =>
        Effect.gen(function* () {
          const { costUsd } = yield* ai.estimate({ model, inputTokens, outputTokens })
          return {
            model,
            inputTokens,
            outputTokens,
            estimatedCost: costUsd,
            currency: "USD" as const,
            timestamp: yield* DateTime.now
          }
        })
      )
  })
)

const readPayload = Schema.decodeUnknownOption(ChatPayload)

/** Answers POST /api/ai/chat without its contract. */
export const makeDirectChat = Effect.gen(function* () {
  const answer = answerChat(yield* AiLayer)
  return ((json) =>
    Option.map(isPlainChat(json) ? Option.some(json) : readPayload(json), (payload) =>
      Effect.catchAll(answer(payload), (failure) => Effect.succeed(toAiErrorResponse(failure)))
    )) satisfies DirectAnswer
})
