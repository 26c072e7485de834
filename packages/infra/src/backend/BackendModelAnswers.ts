import type { ModelEvent } from "@berth/domain/ai/streams/ModelEvent"
import { sseKeepAliveSeconds } from "@berth/api/http/Sse"
import { parseRuntimeEvents } from "@berth/api/runtime/RuntimeStream"
import { ModelAnswerEvent, ModelAnswerRequest, modelAnswersPath } from "@berth/api/gateway/plugins/ModelAnswersApi"
import type { ChatOpening } from "@berth/domain/ai/calls/ChatRequest"
import { ModelAnswers } from "@berth/domain/gateway/plugins/ModelAnswers"
import { PluginFailed, PluginInputInvalid } from "@berth/domain/gateway/plugins/PluginRun"
import { HttpClient, HttpClientRequest, HttpClientResponse } from "@effect/platform"
import { Duration, Effect, Layer, Option, Stream } from "effect"
import type { BackendClientOptions } from "./BackendAgentManager.ts"
import { addCallerHeaders } from "./CallerHeaders.ts"

/** The backend answers with the head of a stream at once, before it has asked any model. */
const headTimeout = Duration.seconds(10)
/** Three keep-alives missed. */
const idleTimeout = Duration.seconds(3 * sseKeepAliveSeconds)

const unreachable = new PluginFailed({ reason: "the AI layer cannot be reached" })
const interrupted = new PluginFailed({ reason: "the AI layer broke off" })

/** What went wrong on the way is for the log; the caller hears no address of ours. */
const logAndFail = (cause: { readonly _tag: string }, failure: PluginFailed) =>
  Effect.zipRight(
    Effect.logWarning("An answer of the backend was lost").pipe(Effect.annotateLogs("reason", cause._tag)),
    failure
  )

/** What an event says, and nothing of one that is only for us. */
const decodeAnswerEvent = (
  event: ModelAnswerEvent,
  opened: (opening: ChatOpening) => Effect.Effect<void>
): Effect.Effect<Option.Option<ModelEvent>, PluginFailed | PluginInputInvalid> => {
  switch (event.type) {
    case "opened": {
      const { type: _, ...opening } = event
      return Effect.as(opened(opening), Option.none())
    }
    case "failed":
      return new PluginFailed({
        reason: event.reason,
        nobodyWasAsked: event.nobodyWasAsked,
        retryAfter: event.retryAfter === null ? undefined : Duration.millis(event.retryAfter)
      })
    case "invalid":
      return new PluginInputInvalid({ field: event.field, reason: event.reason })
    case "delta":
    case "tool-call":
    case "done":
      return Effect.succeedSome(event)
  }
}

/** The AI layer of another process, over the backend API. */
export const layer = (options: BackendClientOptions) =>
  Layer.effect(
    ModelAnswers,
    Effect.map(HttpClient.HttpClient, (anyClient) => {
      const client = HttpClient.mapRequest(anyClient, (request) =>
        request.pipe(
          HttpClientRequest.prependUrl(options.backendUrl.replace(/\/$/, "")),
          HttpClientRequest.bearerToken(options.internalApiKey)
        )
      ).pipe(HttpClient.mapRequestEffect(addCallerHeaders))

      const open = (request: ModelAnswerRequest) =>
        HttpClientRequest.post(modelAnswersPath).pipe(
          HttpClientRequest.schemaBodyJson(ModelAnswerRequest)(request),
          Effect.orDie,
          Effect.flatMap(client.execute),
          Effect.flatMap(HttpClientResponse.filterStatusOk),
          Effect.timeout(headTimeout),
          Effect.catchAll((error) => logAndFail(error, unreachable))
        )

      return ModelAnswers.of({
        answer: (request, opened = () => Effect.void) =>
          Stream.unwrap(
            Effect.map(open(request), (response) =>
              response.stream.pipe(
                Stream.timeoutFail(() => ({ _tag: "Silent" }) as const, idleTimeout),
                Stream.decodeText(),
                parseRuntimeEvents(ModelAnswerEvent),
                Stream.catchAll((error) => Stream.fromEffect(logAndFail(error, interrupted)))
              )
            )
          ).pipe(
            Stream.mapEffect((event) => decodeAnswerEvent(event, opened)),
            Stream.filterMap((event) => event)
          )
      })
    })
  )
