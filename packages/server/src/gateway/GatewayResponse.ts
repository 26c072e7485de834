import { makeAnsweringModelHeaders } from "@berth/api/ai/AnsweringModelHeaders"
import { PaymentInProgressBody, PluginFailedBody } from "@berth/api/gateway/GatewayErrorBodies"
import {
  audioTypeHeader,
  GatewayAnswer,
  gatewayFrames,
  pluginHeader,
  receiptHeader
} from "@berth/api/gateway/GatewayApi"
import { formatReceiptHeader } from "@berth/api/gateway/payments/PaymentReceiptHeader"
import { PaymentInProgress } from "@berth/domain/gateway/GatewayErrors"
import type { ModelDelta } from "@berth/domain/ai/streams/ModelEvent"
import type { CallResult, OpenedGatewayCall } from "@berth/domain/gateway/calls/OpenedGatewayCall"
import type { PluginId } from "@berth/domain/gateway/plugins/Plugin"
import { collectResult, mapEnd, PluginFailed } from "@berth/domain/gateway/plugins/PluginRun"
import { catchReader, mapReader, readerFromValues } from "@berth/domain/ai/streams/ChunkReader"
import { HttpServerResponse } from "@effect/platform"
import { Cause, Effect, Option, Schema } from "effect"
import { makeOpeningHeaders } from "../ai/AnswerHeaders.ts"
import { respondFrames } from "../http/SseResponse.ts"
import { withTraceId } from "../http/TraceId.ts"

type Response = HttpServerResponse.HttpServerResponse

const encodeAnswer = Schema.encodeSync(GatewayAnswer)
const decodeAnswer = Schema.decodeOption(Schema.parseJson(GatewayAnswer))
const encodeFailure = Schema.encodeSync(PluginFailedBody)
const encodeInProgress = Schema.encodeSync(PaymentInProgressBody)

const makeHeaders = (
  plugin: PluginId,
  { answeredBy, isReplayed, opening, receipt }: OpenedGatewayCall
): Record<string, string> => ({
  [pluginHeader]: plugin,
  ...makeAnsweringModelHeaders(answeredBy),
  ...Option.match(opening, { onNone: () => ({}), onSome: makeOpeningHeaders }),
  ...Option.match(receipt, {
    onNone: () => ({}),
    onSome: (paid) => ({ [receiptHeader]: formatReceiptHeader(paid), "cache-control": "private" })
  }),
  ...(isReplayed ? { "idempotent-replayed": "true" } : {})
})

const makeAnswer = (
  plugin: PluginId,
  { receipt }: OpenedGatewayCall,
  result: CallResult
): typeof GatewayAnswer.Type => ({
  plugin,
  message: result.message,
  timestamp: result.answeredAt,
  payment: Option.match(receipt, {
    onNone: () => ({ method: "card", receipt: null }),
    onSome: ({ transactionHash }) => ({ method: "mpp", receipt: transactionHash })
  })
})

const makeWholeResponse = (plugin: PluginId, call: OpenedGatewayCall, result: CallResult) =>
  HttpServerResponse.unsafeJson(encodeAnswer(makeAnswer(plugin, call, result)), {
    headers: {
      ...makeHeaders(plugin, call),
      ...makeAnsweringModelHeaders(result.answeredBy),
      ...(result.audioType === undefined ? {} : { [audioTypeHeader]: result.audioType })
    }
  })

export const respondWhole = (plugin: PluginId, call: OpenedGatewayCall) =>
  Effect.map(collectResult(call.events), (result) => makeWholeResponse(plugin, call, result))

const toErrorFrame = <E>(cause: Cause.Cause<E>) => {
  const failure = Option.getOrUndefined(Cause.failureOption(cause))
  const body =
    failure instanceof PaymentInProgress
      ? encodeInProgress(failure)
      : encodeFailure(
          failure instanceof PluginFailed ? failure : new PluginFailed({ reason: "something went wrong on our side" })
        )
  return Effect.zipRight(
    Effect.logWarning("Streamed answer broke off", cause),
    Effect.map(withTraceId(body), gatewayFrames.error)
  )
}

/** Responds with events as they arrive. `store` receives the complete answer before its end is sent. */
export const respondStreamed = (
  plugin: PluginId,
  call: OpenedGatewayCall,
  store: (response: Response) => Effect.Effect<void>
): Response => {
  const events = mapEnd((result: CallResult) => Effect.as(store(makeWholeResponse(plugin, call, result)), result))(
    call.events
  )
  const toFrame = (event: ModelDelta | CallResult) =>
    event.type === "delta" ? gatewayFrames.delta(event.text) : gatewayFrames.done(makeAnswer(plugin, call, event))
  const frames = catchReader(Effect.sandbox(mapReader(events, (read) => read.map(toFrame))), toErrorFrame)
  return respondFrames(Effect.succeed(frames), makeHeaders(plugin, call))
}

/** Converts a stored complete answer to a stream with one delta. */
export const toStreamedResponse = (response: Response): Response => {
  if (response.status !== 200 || response.body._tag !== "Uint8Array") return response
  const { headers } = response
  const { "content-type": _type, "content-length": _length, ...otherHeaders } = headers
  return Option.match(decodeAnswer(new TextDecoder().decode(response.body.body)), {
    onNone: () => response,
    onSome: (answer) =>
      respondFrames(
        Effect.succeed(readerFromValues([gatewayFrames.delta(answer.message), gatewayFrames.done(answer)])),
        otherHeaders
      )
  })
}
