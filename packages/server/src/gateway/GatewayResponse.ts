import { PaymentInProgress, PaymentInProgressBody, PluginFailedBody } from "@berth/api/gateway/GatewayErrorBodies"
import { audioTypeHeader, GatewayAnswer, type GatewayPayment } from "@berth/api/gateway/GatewayApi"
import { gatewayFrames } from "@berth/api/gateway/GatewayEvents"
import type { ChatOpening } from "@berth/domain/ai/calls/ChatRequest"
import type { PluginId } from "@berth/domain/gateway/plugins/Plugin"
import {
  collectPluginAnswer,
  openPluginRun,
  type PluginAnswer,
  type PluginEvent,
  PluginFailed
} from "@berth/domain/gateway/plugins/PluginRun"
import { HttpServerResponse } from "@effect/platform"
import { Cause, DateTime, Effect, Option, Ref, Schema, Stream } from "effect"
import { makeOpeningHeaders } from "../ai/AnswerHeaders.ts"
import { respondFrames } from "../http/SseResponse.ts"

type Response = HttpServerResponse.HttpServerResponse

export interface GatewayResponseInput<E> {
  readonly plugin: PluginId
  readonly payment: typeof GatewayPayment.Type
  readonly run: Stream.Stream<PluginEvent, E>
  /** Which model answers, once that is known. */
  readonly opening: Ref.Ref<Option.Option<ChatOpening>>
  readonly headers: Readonly<Record<string, string>>
}

export interface GatewayStreamInput<E> extends GatewayResponseInput<E> {
  /** Given the whole answer at its end, before anybody is told that it is the end. */
  readonly store: (response: Response) => Effect.Effect<void>
  /** Whether the end may be told; else another request answers. */
  readonly confirmEnd: Effect.Effect<boolean>
}

const encodeAnswer = Schema.encodeSync(GatewayAnswer)
const decodeAnswer = Schema.decodeOption(Schema.parseJson(GatewayAnswer))
const encodeFailure = Schema.encodeSync(PluginFailedBody)
const takenOverFrame = gatewayFrames.error(Schema.encodeSync(PaymentInProgressBody)(new PaymentInProgress()))

const headersOf = <E>({ headers, opening, plugin }: GatewayResponseInput<E>) =>
  Effect.map(Ref.get(opening), (known) => ({
    ...Option.match(known, { onNone: () => ({}), onSome: makeOpeningHeaders }),
    ...headers,
    "x-plugin-id": plugin
  }))

const makeWholeAnswer = <E>(toTell: GatewayResponseInput<E>, answer: PluginAnswer) =>
  Effect.gen(function* () {
    const { payment, plugin } = toTell
    const body = { plugin, message: answer.message, timestamp: yield* DateTime.now, payment }
    const audio = answer.audioType === undefined ? {} : { [audioTypeHeader]: answer.audioType }
    const headers = { ...(yield* headersOf(toTell)), ...audio }
    return { body, response: HttpServerResponse.unsafeJson(encodeAnswer(body), { headers }) }
  })

/** The answer in one piece, once all of it is there. */
export const respondWhole = <E>(toTell: GatewayResponseInput<E>): Effect.Effect<Response, E | PluginFailed> =>
  Effect.flatMap(collectPluginAnswer(toTell.run), (answer) =>
    Effect.map(makeWholeAnswer(toTell, answer), ({ response }) => response)
  )

/** What the client of a stream is told that breaks off. */
const toErrorFrame = <E>(cause: Cause.Cause<E>) => {
  const failure = Cause.failureOption(cause)
  const told =
    Option.isSome(failure) && failure.value instanceof PluginFailed
      ? failure.value
      : new PluginFailed({ reason: "something went wrong on our side" })
  return Effect.as(Effect.logWarning("A streamed answer broke off", cause), gatewayFrames.error(encodeFailure(told)))
}

/** The answer as it comes, from its first piece on; what fails before that fails here. */
export const respondStreamed = <E>(toStream: GatewayStreamInput<E>) =>
  Effect.gen(function* () {
    const { store, confirmEnd, run } = toStream
    const events = yield* openPluginRun(run)
    const end = (answer: PluginAnswer) =>
      Effect.gen(function* () {
        const { body, response } = yield* makeWholeAnswer(toStream, answer)
        yield* store(response)
        return (yield* confirmEnd) ? gatewayFrames.done(body) : takenOverFrame
      })
    const frames = events.pipe(
      Stream.mapEffect((event) =>
        event.type === "delta" ? Effect.succeed(gatewayFrames.delta(event.text)) : end(event)
      ),
      Stream.catchAllCause((cause) => Stream.fromEffect(toErrorFrame(cause)))
    )
    return respondFrames(frames, yield* headersOf(toStream))
  })

/** An answer in one piece for whoever wants it in pieces: it is one of them. */
export const toStreamedResponse = (response: Response): Response => {
  if (response.status !== 200 || response.body._tag !== "Uint8Array") return response
  const { headers } = response
  const { "content-type": _type, "content-length": _length, ...kept } = headers
  return Option.match(decodeAnswer(new TextDecoder().decode(response.body.body)), {
    onNone: () => response,
    onSome: (answer) =>
      respondFrames(Stream.make(gatewayFrames.delta(answer.message), gatewayFrames.done(answer)), kept)
  })
}
