import {
  RuntimeModelEvent,
  runtimeModelPath,
  RuntimeModelRequest,
  turnBudgetExhaustedStatus
} from "@berth/api/runtime/RuntimeContract"
import { readRuntimeEvents, RuntimeStreamProblem } from "@berth/api/runtime/RuntimeStream"
import * as HttpClient from "@effect/platform/HttpClient"
import type { HttpClientError } from "@effect/platform/HttpClientError"
import * as HttpClientRequest from "@effect/platform/HttpClientRequest"
import type { HttpClientResponse } from "@effect/platform/HttpClientResponse"
import { type Duration, Effect, Layer, Schedule, Stream } from "effect"
import { type BackendAccess, readRefusal } from "../Backend.ts"
import { type ModelAnswer, ModelCallFailed, ModelClient } from "./ModelClient.ts"

export interface BackendModelClientOptions extends BackendAccess {
  /** From the request to the head of the answer. Default: a minute. */
  readonly headTimeout?: Duration.DurationInput
  /** Between two signs of life within an answer. Default: a minute. */
  readonly idleTimeout?: Duration.DurationInput
}

/** Model calls through the backend's AI layer, by runtime token. */
export const layer = (options: BackendModelClientOptions) =>
  Layer.effect(
    ModelClient,
    Effect.map(HttpClient.HttpClient, (client) => {
      const open = (request: RuntimeModelRequest) =>
        HttpClientRequest.post(new URL(runtimeModelPath, options.backendUrl)).pipe(
          HttpClientRequest.bearerToken(options.token),
          HttpClientRequest.acceptJson,
          HttpClientRequest.setHeader("accept", "text/event-stream"),
          HttpClientRequest.schemaBodyJson(RuntimeModelRequest)(request),
          Effect.orDie,
          Effect.flatMap(client.execute),
          // No answer has begun: a retry cannot duplicate one.
          Effect.retry({ while: isTransport, schedule: Schedule.spaced("200 millis"), times: 1 }),
          Effect.mapError(unreachable),
          Effect.timeoutFail({
            duration: options.headTimeout ?? "1 minute",
            onTimeout: () => new ModelCallFailed({ reason: "The model did not begin to answer in time." })
          }),
          Effect.flatMap((response) =>
            response.status === 200
              ? Effect.succeed(response)
              : Effect.flatMap(
                  readRefusal(response, "The AI layer"),
                  (reason) =>
                    new ModelCallFailed({ reason, isBudgetExhausted: response.status === turnBudgetExhaustedStatus })
                )
          )
        )
      return ModelClient.of({
        answer: (request) =>
          Stream.unwrap(
            Effect.map(open(request), (response) => events(response, options.idleTimeout ?? "1 minute"))
          ).pipe(
            Stream.withSpan("ModelClient.answer", {
              attributes: { "gen_ai.operation.name": "chat", "gen_ai.request.model": request.model }
            })
          )
      })
    })
  )

const isTransport = (error: HttpClientError) => error._tag === "RequestError" && error.reason === "Transport"

const unreachable = () => new ModelCallFailed({ reason: "The AI layer could not be reached." })

/** Longer than the AI layer takes for one answer. */
const answerTimeout = "15 minutes"

const idleTooLong = () => new ModelCallFailed({ reason: "The model stopped in the middle of its answer." })

const reasonOf = RuntimeStreamProblem.$match({
  Truncated: () => "The model's answer was cut short.",
  Malformed: () => "The AI layer answered in a way that is not understood.",
  Oversized: () => "The model's answer is too long.",
  Failed: ({ message }) => message
})

const events = (
  response: HttpClientResponse,
  idle: Duration.DurationInput
): Stream.Stream<ModelAnswer, ModelCallFailed> =>
  response.stream.pipe(
    Stream.mapError(() => RuntimeStreamProblem.Truncated()),
    readRuntimeEvents(RuntimeModelEvent, { idle, total: answerTimeout, onTimeout: idleTooLong }),
    Stream.mapError((error) =>
      error._tag === "ModelCallFailed" ? error : new ModelCallFailed({ reason: reasonOf(error) })
    )
  )
