import {
  RuntimeModelEvent,
  runtimeModelPath,
  type RuntimeModelRequest,
  turnBudgetExhaustedStatus
} from "@berth/api/runtime/RuntimeContract"
import { type ExchangeFailed, makeKeepingAgent, postForStream, readBodyText } from "@berth/api/runtime/RuntimeExchange"
import { readRuntimeSource, RuntimeStreamProblem } from "@berth/api/runtime/RuntimeStream"
import { withScopedSpan } from "@berth/domain/shared/SpanExport"
import { makeIdleTimeouts } from "@berth/domain/ai/streams/IdleTimeout"
import { mapChunkFailure } from "@berth/domain/ai/streams/ChunkSource"
import { Duration, Effect, Layer, Redacted } from "effect"
import { type BackendAccess, readRefusal } from "../Backend.ts"
import { ModelCallFailed, ModelClient } from "./ModelClient.ts"

interface BackendModelClientOptions extends BackendAccess {
  /** Timeout from the request to the head of the answer. Default: a minute. */
  readonly headTimeout?: Duration.DurationInput
  /** Timeout between two chunks of an answer, including keep-alives. Default: a minute. */
  readonly idleTimeout?: Duration.DurationInput
}

/** Model calls through the backend's AI layer, with the runtime token. */
export const layer = ({
  backendUrl,
  headTimeout = "1 minute",
  idleTimeout = "1 minute",
  token
}: BackendModelClientOptions) =>
  Layer.scoped(
    ModelClient,
    Effect.map(Effect.all([makeIdleTimeouts, makeKeepingAgent]), ([timers, agent]) => {
      const readAnswer = readRuntimeSource(RuntimeModelEvent, {
        idle: idleTimeout,
        total: answerTimeout,
        timers: Effect.succeed(timers),
        onTimeout: () => new ModelCallFailed({ reason: "The model stopped in the middle of its answer." })
      })
      const after = Duration.decode(headTimeout)
      const open = (request: RuntimeModelRequest) => {
        const send = Effect.suspend(() =>
          postForStream({
            url: new URL(runtimeModelPath, backendUrl),
            headers: { authorization: `Bearer ${Redacted.value(token)}` },
            body: encodeRequest(request),
            agent,
            headTimeout: { timers, after }
          })
        )
        return send.pipe(
          // No answer has begun, so a retry cannot duplicate one.
          Effect.catchAll((failure) =>
            failure.hasTimedOut === true ? Effect.fail(failure) : Effect.delay(send, "200 millis")
          ),
          Effect.mapError(
            ({ hasTimedOut }) =>
              new ModelCallFailed({
                reason:
                  hasTimedOut === true
                    ? "The model did not begin to answer in time."
                    : "The AI layer could not be reached."
              })
          ),
          Effect.flatMap(({ bytes, status }) =>
            status === 200
              ? readAnswer(bytes)
              : Effect.flatMap(
                  readRefusal({ status, text: readBodyText(bytes) }, "The AI layer"),
                  (reason) =>
                    new ModelCallFailed({
                      reason: reason.slice(0, 500),
                      isBudgetExhausted: status === turnBudgetExhaustedStatus
                    })
                )
          )
        )
      }
      return ModelClient.of({
        answer: (request) =>
          Effect.map(open(request), (answer) => mapChunkFailure(answer, toModelCallFailed)).pipe(
            withScopedSpan("ModelClient.answer", {
              "gen_ai.agent.id": request.agentId,
              "berth.model": request.model
            })
          )
      })
    })
  )

/** Hot path: a request is its own encoded form, and its messages are long. */
const encodeRequest = (request: typeof RuntimeModelRequest.Encoded): string => JSON.stringify(request)

/** Longer than the AI layer's limit of an answer. */
const answerTimeout = "15 minutes"

const reasonOf = RuntimeStreamProblem.$match({
  Truncated: () => "The model's answer was cut short.",
  Malformed: () => "The AI layer answered in a way that is not understood.",
  Oversized: () => "The model's answer is too long.",
  Failed: ({ message }) => message
})

const toModelCallFailed = (failure: ModelCallFailed | ExchangeFailed | RuntimeStreamProblem) => {
  if (failure._tag === "ModelCallFailed") return failure
  return new ModelCallFailed({
    reason: reasonOf(failure._tag === "ExchangeFailed" ? RuntimeStreamProblem.Truncated() : failure)
  })
}
