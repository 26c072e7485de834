import { BackendApi } from "@berth/api/BackendApi"
import type { ModelAnswerEvent } from "@berth/api/gateway/plugins/ModelAnswersApi"
import { ModelAnswers } from "@berth/domain/gateway/plugins/ModelAnswers"
import type { PluginFailed, PluginInputInvalid } from "@berth/domain/gateway/plugins/PluginRun"
import type { ChatOpening } from "@berth/domain/ai/calls/ChatRequest"
import { readerFromStream, streamFromReader } from "@berth/domain/ai/streams/ChunkReader"
import type { ModelEvent } from "@berth/domain/ai/streams/ModelEvent"
import { absurd, Duration, Effect, Stream } from "effect"
import { group } from "../http/ApiGroup.ts"
import { respondEvents } from "../http/SseResponse.ts"

const toFailureEvent = (error: PluginFailed | PluginInputInvalid) =>
  error._tag === "PluginInputInvalid"
    ? ({ type: "invalid", field: error.field, reason: error.reason } as const)
    : ({
        type: "failed",
        reason: error.reason,
        retryAfter: error.retryAfter === undefined ? null : Duration.toMillis(error.retryAfter),
        kind: error.kind,
        isUnavailable: error.isUnavailable === true
      } as const)

/** Clients of an earlier release require the fields of the opening in `done`. */
const toWireEvent = (opening: ChatOpening) => (event: ModelEvent) => {
  if (event.type !== "done") return event
  const { type, ...ending } = event
  return { type, ...opening, ...ending }
}

/** Serves the AI layer to gateways of other processes. */
export const layer = group(BackendApi, "modelAnswers", (handlers) =>
  Effect.map(ModelAnswers, (answers) =>
    handlers
      .handle("answer", ({ payload }) => {
        const events = Stream.unwrapScoped(
          Effect.map(answers.open(payload), ({ events: rest, opening }) =>
            Stream.concat(
              Stream.make<[ModelAnswerEvent]>({ type: "opened", ...opening }),
              Stream.map(streamFromReader(rest), toWireEvent(opening))
            )
          )
        ).pipe(Stream.catchAll((error) => Stream.make(toFailureEvent(error))))
        return Effect.succeed(respondEvents(readerFromStream(events), absurd))
      })
      .handle("models", () =>
        // The AI layer in this process does not fail.
        Effect.map(Effect.orDie(answers.models), (models) => ({ models }))
      )
      .handle("providers", () => Effect.map(Effect.orDie(answers.providers), (providers) => ({ providers })))
      .handle("embed", ({ payload }) =>
        Effect.match(answers.embed(payload), {
          onFailure: toFailureEvent,
          onSuccess: (embedded) => ({ type: "embedded" as const, ...embedded })
        })
      )
      .handle("quote", ({ payload }) =>
        Effect.match(answers.quote(payload), {
          onFailure: toFailureEvent,
          onSuccess: (quoted) => ({ type: "quoted" as const, ...quoted })
        })
      )
  )
)
