import { PaymentIsInProgress, PaymentIsInProgressBody, PluginFailedBody } from "@berth/api/gateway/GatewayErrorBodies"
import { audioTypeHeader, GatewayAnswer, type GatewayPayment } from "@berth/api/gateway/GatewayApi"
import { gatewayFrames } from "@berth/api/gateway/GatewayEvents"
import type { ChatOpening } from "@berth/domain/ai/ChatRequest"
import type { PluginId } from "@berth/domain/gateway/Plugin"
import { answerOf, openRun, type PluginAnswer, type PluginEvent, PluginFailed } from "@berth/domain/gateway/PluginRun"
import { HttpServerResponse } from "@effect/platform"
import { Cause, DateTime, Effect, Option, Ref, Schema, Stream } from "effect"
import { openingHeaders } from "../ai/AnswerHeaders.ts"
import { frameStream } from "../http/Sse.ts"

type Response = HttpServerResponse.HttpServerResponse

export interface ToTell<E> {
  readonly plugin: PluginId
  readonly payment: typeof GatewayPayment.Type
  readonly run: Stream.Stream<PluginEvent, E>
  /** Which model answers, once that is known. */
  readonly opening: Ref.Ref<Option.Option<ChatOpening>>
  readonly headers: Readonly<Record<string, string>>
}

export interface ToStream<E> extends ToTell<E> {
  /** Given the whole answer at its end, before anybody is told that it is the end. */
  readonly keep: (response: Response) => Effect.Effect<void>
  /** Whether the end may be told; else another request answers. */
  readonly mayEnd: Effect.Effect<boolean>
}

const encodeAnswer = Schema.encodeSync(GatewayAnswer)
const decodeAnswer = Schema.decodeOption(Schema.parseJson(GatewayAnswer))
const encodeFailure = Schema.encodeSync(PluginFailedBody)
const takenOver = gatewayFrames.error(Schema.encodeSync(PaymentIsInProgressBody)(new PaymentIsInProgress()))

const headersOf = <E>({ headers, opening, plugin }: ToTell<E>) =>
  Effect.map(Ref.get(opening), (known) => ({
    ...Option.match(known, { onNone: () => ({}), onSome: openingHeaders }),
    ...headers,
    "x-plugin-id": plugin
  }))

const whole = <E>(toTell: ToTell<E>, answer: PluginAnswer) =>
  Effect.gen(function* () {
    const { payment, plugin } = toTell
    const body = { plugin, message: answer.message, timestamp: yield* DateTime.now, payment }
    const audio = answer.audioType === undefined ? {} : { [audioTypeHeader]: answer.audioType }
    const headers = { ...(yield* headersOf(toTell)), ...audio }
    return { body, response: HttpServerResponse.unsafeJson(encodeAnswer(body), { headers }) }
  })

/** The answer in one piece, once all of it is there. */
export const tellWhole = <E>(toTell: ToTell<E>): Effect.Effect<Response, E | PluginFailed> =>
  Effect.flatMap(answerOf(toTell.run), (answer) => Effect.map(whole(toTell, answer), ({ response }) => response))

/** What the client of a stream is told that breaks off. */
const broken = <E>(cause: Cause.Cause<E>) => {
  const failure = Cause.failureOption(cause)
  const told =
    Option.isSome(failure) && failure.value instanceof PluginFailed
      ? failure.value
      : new PluginFailed({ reason: "something went wrong on our side" })
  return Effect.as(Effect.logWarning("A streamed answer broke off", cause), gatewayFrames.error(encodeFailure(told)))
}

/** The answer as it comes, from its first piece on; what fails before that fails here. */
export const tellPieces = <E>(toStream: ToStream<E>) =>
  Effect.gen(function* () {
    const { keep, mayEnd, run } = toStream
    const events = yield* openRun(run)
    const end = (answer: PluginAnswer) =>
      Effect.gen(function* () {
        const { body, response } = yield* whole(toStream, answer)
        yield* keep(response)
        return (yield* mayEnd) ? gatewayFrames.done(body) : takenOver
      })
    const frames = events.pipe(
      Stream.mapEffect((event) =>
        event.type === "delta" ? Effect.succeed(gatewayFrames.delta(event.text)) : end(event)
      ),
      Stream.catchAllCause((cause) => Stream.fromEffect(broken(cause)))
    )
    return frameStream(frames, yield* headersOf(toStream))
  })

/** An answer in one piece for whoever wants it in pieces: it is one of them. */
export const asPieces = (response: Response): Response => {
  if (response.status !== 200 || response.body._tag !== "Uint8Array") return response
  const { headers } = response
  const { "content-type": _type, "content-length": _length, ...kept } = headers
  return Option.match(decodeAnswer(new TextDecoder().decode(response.body.body)), {
    onNone: () => response,
    onSome: (answer) => frameStream(Stream.make(gatewayFrames.delta(answer.message), gatewayFrames.done(answer)), kept)
  })
}
