import { ProviderFailedBody } from "@berth/api/ai/AiErrorBodies"
import { chatEventFrames } from "@berth/api/ai/ChatEvents"
import { chatRequest } from "@berth/api/ai/ToChatMessage"
import { BackendApi } from "@berth/api/BackendApi"
import { AiLayer } from "@berth/domain/ai/AiLayer"
import type { ChatCompletion, ChatEvent } from "@berth/domain/ai/ChatRequest"
import { HttpApiBuilder } from "@effect/platform"
import { DateTime, Effect, Schema, Stream } from "effect"
import { frameStream } from "../http/Sse.ts"
import { answerHeaders, openingHeaders, setHeaders, tellWhenToRetry } from "./AnswerHeaders.ts"

const encodeFailure = Schema.encodeSync(ProviderFailedBody)

const answerOf = (
  completion: Pick<ChatCompletion, "id" | "model" | "provider" | "text" | "usage">,
  timestamp: DateTime.Utc
) => ({
  id: completion.id,
  model: completion.model,
  provider: completion.provider,
  message: { role: "assistant" as const, content: completion.text },
  usage: completion.usage,
  timestamp
})

export const layer = HttpApiBuilder.group(BackendApi, "ai", (handlers) =>
  Effect.gen(function* () {
    const ai = yield* AiLayer

    /** Frames of a streamed answer; `text` gathers what the last frame says again. */
    const frames = <E>(events: Stream.Stream<ChatEvent, E>) => {
      const texts: Array<string> = []
      return Stream.mapEffect(events, (event) => {
        if (event.type === "done")
          return Effect.map(DateTime.now, (now) =>
            chatEventFrames.done({
              ...answerOf({ ...event, text: texts.join("") }, now),
              costUsd: event.costUsd
            })
          )
        // Nobody asks for tools on this route.
        if (event.type === "tool-call") return Effect.succeed("")
        texts.push(event.text)
        return Effect.succeed(chatEventFrames.delta(event.text))
      })
    }

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
      .handle("chat", ({ payload }) =>
        Effect.gen(function* () {
          const request = {
            ...chatRequest(payload),
            unknownModel: "refuse" as const,
            caller: { userId: null, agentId: null }
          }
          if (payload.stream === true) {
            // The scope is the request's: it ends with the answer, or when the client leaves.
            const opened = yield* ai.open(request)
            return frameStream(
              Stream.catchAll(frames(opened.events), (failure) =>
                Stream.make(chatEventFrames.error(encodeFailure(failure)))
              ),
              openingHeaders(opened)
            )
          }
          const completion = yield* ai.complete(request)
          yield* setHeaders(answerHeaders(completion))
          return answerOf(completion, yield* DateTime.now)
        }).pipe(Effect.tapErrorTag("ProviderFailed", tellWhenToRetry))
      )
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
