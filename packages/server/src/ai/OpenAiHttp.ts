import { ProviderFailedBody } from "@berth/api/ai/AiErrorBodies"
import { type OpenAiCompletion, OpenAiCompletionPayload } from "@berth/api/ai/OpenAiApi"
import { makeOpenAiFrames } from "@berth/api/ai/OpenAiFrames"
import { isPlainCompletion } from "@berth/api/ai/PayloadFastPath"
import { BackendApi } from "@berth/api/BackendApi"
import { AiLayer } from "@berth/domain/ai/AiLayer"
import type { Model } from "@berth/domain/ai/models/Model"
import { parseModelVendor } from "@berth/domain/ai/models/ModelRoutes"
import { HttpServerResponse } from "@effect/platform"
import { Clock, Effect, Option, Schema } from "effect"
import { group } from "../http/ApiGroup.ts"
import type { DirectAnswer } from "../http/DirectRoutes.ts"
import { respondFrames } from "../http/SseResponse.ts"
import { toAiErrorResponse } from "./AiErrorResponses.ts"
import { makeAnswerHeaders, makeOpeningHeaders } from "./AnswerHeaders.ts"
import { addRetryAfter } from "../http/ResponseHeaders.ts"
import { makeCompletion, makeCompletionFrames } from "./CompletionAnswers.ts"
import { readCompletion } from "./CompletionRequest.ts"

export const currentSeconds = Effect.map(Clock.currentTimeMillis, (now) => Math.floor(now / 1000))

/** `created`: epoch seconds. */
export const listModel = ({ id }: Pick<Model, "id">, created = 0) => ({
  id,
  object: "model" as const,
  created,
  owned_by: parseModelVendor(id)
})

/** Answers POST /v1/chat/completions. */
const answerCompletion = (ai: AiLayer) =>
  Effect.fnUntraced(
    function* (payload: OpenAiCompletionPayload) {
      const request = yield* readCompletion(payload)
      const created = yield* currentSeconds
      if (payload.stream === true) {
        // The request's scope ends with the response, or when the client disconnects.
        const { opening, read } = yield* ai.open(request)
        const withUsage = payload.stream_options?.include_usage === true
        const frames = makeOpenAiFrames({ id: opening.id, model: opening.model, created, withUsage })
        const body = makeCompletionFrames(read, frames, ProviderFailedBody)
        return respondFrames(Effect.succeed(body), makeOpeningHeaders(opening))
      }
      const answer = yield* ai.complete(request)
      const completion: OpenAiCompletion = makeCompletion(answer, created)
      return HttpServerResponse.unsafeJson(completion, { headers: makeAnswerHeaders(answer) })
    },
    Effect.tapErrorTag("ProviderFailed", addRetryAfter),
    // The payload's schema requires a message.
    Effect.catchTag("MessagesMissing", Effect.die)
  )

export const layer = group(BackendApi, "openAi", (handlers) =>
  Effect.gen(function* () {
    const ai = yield* AiLayer
    const answer = answerCompletion(ai)

    return handlers
      .handle("createCompletion", ({ payload }) => answer(payload))
      .handle("listModels", () =>
        Effect.gen(function* () {
          const { models } = yield* ai.models()
          return {
            object: "list" as const,
            data: models.filter(({ available }) => available).map((model) => listModel(model))
          }
        })
      )
      .handle("retrieveModel", ({ path }) => Effect.map(ai.find(path.id), (model) => listModel(model)))
      .handle("retrieveModelOfVendor", ({ path }) =>
        Effect.map(ai.find(`${path.vendor}/${path.name}`), (model) => listModel(model))
      )
  })
)

const readPayload = Schema.decodeUnknownOption(OpenAiCompletionPayload)

/** Answers POST /v1/chat/completions without its contract. */
export const makeDirectCompletion = Effect.map(AiLayer, (ai): DirectAnswer => {
  const answer = answerCompletion(ai)
  return (json) =>
    Option.map(isPlainCompletion(json) ? Option.some(json) : readPayload(json), (payload) =>
      Effect.catchAll(answer(payload), (failure) => Effect.succeed(toAiErrorResponse(failure)))
    )
})
