import { BackendApi } from "@berth/api/BackendApi"
import type { ModelAnswerEvent } from "@berth/api/gateway/plugins/ModelAnswersApi"
import type { ChatOpening } from "@berth/domain/ai/calls/ChatRequest"
import { ModelAnswers } from "@berth/domain/gateway/plugins/ModelAnswers"
import type { PluginFailed, PluginInputInvalid } from "@berth/domain/gateway/plugins/PluginRun"
import { HttpApiBuilder } from "@effect/platform"
import { Chunk, Duration, Effect, Ref, Stream } from "effect"
import { respondEvents } from "../http/SseResponse.ts"

const problemOf = (error: PluginFailed | PluginInputInvalid): ModelAnswerEvent =>
  error._tag === "PluginInputInvalid"
    ? { type: "invalid", field: error.field, reason: error.reason }
    : {
        type: "failed",
        reason: error.reason,
        retryAfter: error.retryAfter === undefined ? null : Duration.toMillis(error.retryAfter),
        nobodyWasAsked: error.nobodyWasAsked === true
      }

/** The AI layer for the gateway of another process. */
export const layer = HttpApiBuilder.group(BackendApi, "modelAnswers", (handlers) =>
  Effect.map(ModelAnswers, (answers) =>
    handlers.handle("answer", ({ payload }) =>
      Effect.gen(function* () {
        const opened = yield* Ref.make<ReadonlyArray<ModelAnswerEvent>>([])
        const tell = (opening: ChatOpening) => Ref.set(opened, [{ type: "opened", ...opening }])
        const answer: Stream.Stream<ModelAnswerEvent> = answers.answer(payload, tell).pipe(
          Stream.mapChunksEffect((events) =>
            Effect.map(Ref.getAndSet(opened, []), (first) => Chunk.appendAll(Chunk.fromIterable(first), events))
          ),
          Stream.catchAll((error) => Stream.make(problemOf(error)))
        )
        return respondEvents(answer)
      })
    )
  )
)
