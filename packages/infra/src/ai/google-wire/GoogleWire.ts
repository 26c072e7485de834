import { type HttpClient, HttpClientRequest, type HttpClientResponse } from "@effect/platform"
import { Effect, Option, type Redacted, Schema, Stream } from "effect"
import { endAfterLast } from "../wire/EndAfterLast.ts"
import { hearEvents } from "../wire/EventStream.ts"
import { entriesIn } from "../wire/ModelList.ts"
import { bytesOf, makeVendorClient, typeOf, unexpectedType } from "../wire/VendorClient.ts"
import type { WireEvent } from "../wire/WireEvent.ts"
import { AnswerIsNonsense, type WireFailure } from "../wire/WireFailure.ts"
import { isLast } from "./ReadAnswer.ts"
import { failOnStrayError } from "./StrayError.ts"
import { type AnswerChunk, type GenerateBody, StreamEvent } from "./WireBodies.ts"
import { refusalOf, refusalOfBody } from "./WireRefusals.ts"

type GoogleEvent = WireEvent<AnswerChunk>

export interface GoogleWire {
  /** POST /models/<model>:streamGenerateContent. Ends after the chunk with a reason to, or when the bytes end. */
  readonly chat: (model: string, body: GenerateBody) => Stream.Stream<GoogleEvent, WireFailure>
  /** The entries of GET /models. */
  readonly models: Effect.Effect<ReadonlyArray<unknown>, WireFailure>
  /** The cheapest call that needs a key. */
  readonly ask: Effect.Effect<void, WireFailure>
}

// More than there are.
const wholeList = "1000"

const readEvent = (data: string): Effect.Effect<GoogleEvent, WireFailure> => {
  const event = Schema.decodeUnknownOption(StreamEvent)(data)
  if (Option.isNone(event)) return Effect.fail(new AnswerIsNonsense({ reason: "an event that cannot be read" }))
  return "error" in event.value
    ? Effect.fail(refusalOf(event.value.error, null, undefined))
    : Effect.succeed({ type: "chunk", chunk: event.value })
}

const readAnswer = (response: HttpClientResponse.HttpClientResponse): Stream.Stream<GoogleEvent, WireFailure> =>
  typeOf(response) === "text/event-stream"
    ? bytesOf(response).pipe(
        Stream.decodeText(),
        failOnStrayError,
        hearEvents,
        Stream.mapEffect((heard) => (heard.type === "event" ? readEvent(heard.data) : Effect.succeed(heard))),
        endAfterLast((event) => event.type === "chunk" && isLast(event.chunk))
      )
    : Stream.fail(unexpectedType(response))

/** The wire that Google's Gemini API speaks, in its words. The key is in a header, since addresses are logged. */
export const makeGoogleWire = (options: {
  readonly baseUrl: string
  readonly apiKey: Redacted.Redacted
}): Effect.Effect<GoogleWire, never, HttpClient.HttpClient> =>
  Effect.map(
    makeVendorClient({ ...options, keyHeader: "x-goog-api-key", readRefusal: refusalOfBody }),
    ({ ask, read, send }) => ({
      chat: (model, body) =>
        HttpClientRequest.post(`/models/${encodeURIComponent(model)}:streamGenerateContent`).pipe(
          HttpClientRequest.setUrlParam("alt", "sse"),
          HttpClientRequest.accept("text/event-stream"),
          HttpClientRequest.bodyUnsafeJson(body),
          send,
          Effect.map(readAnswer),
          Stream.unwrapScoped
        ),
      models: HttpClientRequest.get("/models").pipe(
        HttpClientRequest.acceptJson,
        HttpClientRequest.setUrlParam("pageSize", wholeList),
        read,
        Effect.flatMap(entriesIn("models"))
      ),
      ask: HttpClientRequest.get("/models").pipe(
        HttpClientRequest.acceptJson,
        HttpClientRequest.setUrlParam("pageSize", "1"),
        ask
      )
    })
  )
