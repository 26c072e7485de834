import type { ModelEvent } from "@berth/domain/ai/streams/ModelEvent"
import type { ProviderFailed } from "@berth/domain/ai/models/ModelErrors"
import { ProviderFailedBody } from "@berth/api/ai/AiErrorBodies"
import { type OpenAiCompletion, OpenAiCompletionPayload } from "@berth/api/ai/OpenAiApi"
import { type OpenAiFrames, makeOpenAiFrames } from "@berth/api/ai/OpenAiFrames"
import { isPlainCompletion } from "@berth/api/ai/PayloadFastPath"
import { BackendApi } from "@berth/api/BackendApi"
import { AiLayer } from "@berth/domain/ai/AiLayer"
import type { ChatCompletion, ChatEnding } from "@berth/domain/ai/calls/ChatRequest"
import type { Model } from "@berth/domain/ai/models/Model"
import type { ToolCall } from "@berth/domain/ai/chat/ModelChat"
import { parseModelVendor } from "@berth/domain/ai/models/ModelRoutes"
import { HttpApiBuilder, HttpApiSchema, HttpServerResponse } from "@effect/platform"
import { Chunk, Clock, Effect, Option, Schema, Stream } from "effect"
import type { DirectHandler } from "../http/DirectRoutes.ts"
import { respondFrames } from "../http/SseResponse.ts"
import { toAiErrorResponse } from "./AiErrorResponses.ts"
import { makeAnswerHeaders, makeOpeningHeaders, addProviderRetryAfter } from "./AnswerHeaders.ts"
import { readCompletion } from "./CompletionRequest.ts"

const seconds = Effect.map(Clock.currentTimeMillis, (now) => Math.floor(now / 1000))

const callOf = ({ arguments: text, id, name }: ToolCall) => ({
  id,
  type: "function" as const,
  function: { name, arguments: text }
})

const usageOf = ({ costUsd, usage }: ChatEnding) => ({
  prompt_tokens: usage.promptTokens,
  completion_tokens: usage.completionTokens,
  total_tokens: usage.totalTokens,
  cost: costUsd
})

const finishReasonOf = ({ finishReason }: ChatEnding) => finishReason ?? "stop"

const completionOf = (answer: ChatCompletion, created: number): OpenAiCompletion => ({
  id: answer.id,
  object: "chat.completion",
  created,
  model: answer.model,
  choices: [
    {
      index: 0,
      message: {
        role: "assistant",
        content: answer.text === "" && answer.toolCalls.length > 0 ? null : answer.text,
        refusal: null,
        ...(answer.toolCalls.length === 0 ? {} : { tool_calls: answer.toolCalls.map(callOf) })
      },
      logprobs: null,
      finish_reason: finishReasonOf(answer)
    }
  ],
  usage: usageOf(answer)
})

const encodeFailure = Schema.encodeSync(ProviderFailedBody)
const failureStatus = HttpApiSchema.getStatusError(ProviderFailedBody)

/** The frames of an answer; the first one has the role. */
const framesOf = (events: Stream.Stream<ModelEvent, ProviderFailed>, frames: OpenAiFrames): Stream.Stream<string> => {
  let calls = 0
  const frameOf = (event: ModelEvent): string => {
    switch (event.type) {
      case "delta":
        return frames.delta({ content: event.text })
      case "tool-call": {
        const index = calls
        calls += 1
        return frames.delta({ tool_calls: [{ index, ...callOf(event.call) }] })
      }
      case "done":
        return frames.end(finishReasonOf(event), usageOf(event))
    }
  }
  let opening = frames.delta({ role: "assistant", content: "" })
  // One frame per chunk of events.
  const text = (chunk: Chunk.Chunk<ModelEvent>) => {
    const said = opening + Chunk.toReadonlyArray(chunk).map(frameOf).join("")
    opening = ""
    return Chunk.of(said)
  }
  return Stream.mapChunks(events, text).pipe(
    Stream.catchAll((failure) => Stream.make(frames.error(failureStatus, encodeFailure(failure))))
  )
}

const listed = ({ id }: Model) => ({ id, object: "model" as const, created: 0, owned_by: parseModelVendor(id) })

/** Answers POST /v1/chat/completions. */
const answerCompletion = (ai: AiLayer) => (payload: OpenAiCompletionPayload) =>
  Effect.gen(function* () {
    const request = yield* readCompletion(payload)
    const created = yield* seconds
    if (payload.stream === true) {
      // The request's scope ends with the response, or when the client disconnects.
      const { events, opening } = yield* ai.open(request)
      const withUsage = payload.stream_options?.include_usage === true
      const frames = makeOpenAiFrames({ id: opening.id, model: opening.model, created, withUsage })
      return respondFrames(framesOf(events, frames), makeOpeningHeaders(opening))
    }
    const answer = yield* ai.complete(request)
    const completion: OpenAiCompletion = completionOf(answer, created)
    return HttpServerResponse.unsafeJson(completion, { headers: makeAnswerHeaders(answer) })
  }).pipe(
    Effect.tapErrorTag("ProviderFailed", addProviderRetryAfter),
    // The payload's schema requires one.
    Effect.catchTag("MessagesMissing", Effect.die)
  )

export const layer = HttpApiBuilder.group(BackendApi, "openAi", (handlers) =>
  Effect.gen(function* () {
    const ai = yield* AiLayer
    const answer = answerCompletion(ai)

    return handlers
      .handle("createCompletion", ({ payload }) => answer(payload))
      .handle("listModels", () =>
        Effect.gen(function* () {
          const { models } = yield* ai.models()
          return { object: "list" as const, data: models.filter(({ available }) => available).map(listed) }
        })
      )
      .handle("retrieveModel", ({ path }) => Effect.map(ai.find(path.id), listed))
      .handle("retrieveModelOfVendor", ({ path }) => Effect.map(ai.find(`${path.vendor}/${path.name}`), listed))
  })
)

const readPayload = Schema.decodeUnknownOption(OpenAiCompletionPayload)

/** POST /v1/chat/completions without the router. */
export const makeDirectCompletion = Effect.map(AiLayer, (ai): DirectHandler => {
  const answer = answerCompletion(ai)
  return (_, json) =>
    Option.match(isPlainCompletion(json) ? Option.some(json) : readPayload(json), {
      onNone: () => Effect.succeedNone,
      onSome: (payload) =>
        Effect.asSome(Effect.catchAll(answer(payload), (failure) => Effect.succeed(toAiErrorResponse(failure))))
    })
})
