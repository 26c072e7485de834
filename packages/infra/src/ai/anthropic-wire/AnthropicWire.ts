import { type HttpClient, HttpClientRequest, type HttpClientResponse } from "@effect/platform"
import { Effect, Option, type Redacted, Schema, Stream } from "effect"
import { endAfterLast } from "../wire/EndAfterLast.ts"
import { readEvents } from "../wire/EventStream.ts"
import { entriesIn } from "../wire/ModelList.ts"
import { bytesOf, makeVendorClient, typeOf, unexpectedType } from "../wire/VendorClient.ts"
import type { WireEvent } from "../wire/WireEvent.ts"
import { AnswerIsNonsense, type WireFailure } from "../wire/WireFailure.ts"
import { AnswerEvent, type MessagesBody, StreamEvent } from "./WireBodies.ts"
import { refusalOf, refusalOfBody } from "./WireRefusals.ts"

type AnthropicEvent = WireEvent<AnswerEvent>

export interface AnthropicWire {
  /** POST /messages. Ends after `done`, or when the bytes end. */
  readonly chat: (body: MessagesBody) => Stream.Stream<AnthropicEvent, WireFailure>
  /** The entries of GET /models. */
  readonly models: Effect.Effect<ReadonlyArray<unknown>, WireFailure>
  /** The cheapest call that needs a key. */
  readonly ask: Effect.Effect<void, WireFailure>
}

// The version of the protocol; the address has one too.
const version = "2023-06-01"

// More than there are.
const wholeList = "1000"

const isOfAnswer = Schema.is(AnswerEvent)

const readEvent = (data: string): Effect.Effect<AnthropicEvent, WireFailure> => {
  const event = Schema.decodeUnknownOption(StreamEvent)(data)
  if (Option.isNone(event)) return Effect.fail(new AnswerIsNonsense({ reason: "an event that cannot be read" }))
  if ("error" in event.value) return Effect.fail(refusalOf(event.value.error, null, undefined))
  if (isOfAnswer(event.value)) return Effect.succeed({ type: "chunk", chunk: event.value })
  return Effect.succeed({ type: event.value.type === "message_stop" ? "done" : "sign-of-life" })
}

const readAnswer = (response: HttpClientResponse.HttpClientResponse): Stream.Stream<AnthropicEvent, WireFailure> =>
  typeOf(response) === "text/event-stream"
    ? bytesOf(response).pipe(
        readEvents,
        Stream.mapEffect((heard) => (heard.type === "event" ? readEvent(heard.data) : Effect.succeed(heard))),
        endAfterLast(({ type }) => type === "done")
      )
    : Stream.fail(unexpectedType(response))

/** The wire that Anthropic speaks, in its words. */
export const makeAnthropicWire = (options: {
  readonly baseUrl: string
  readonly apiKey: Redacted.Redacted
}): Effect.Effect<AnthropicWire, never, HttpClient.HttpClient> =>
  Effect.map(
    makeVendorClient({
      ...options,
      keyHeader: "x-api-key",
      headers: { "anthropic-version": version },
      readRefusal: refusalOfBody
    }),
    ({ ask, read, send }) => ({
      chat: (body) =>
        HttpClientRequest.post("/messages").pipe(
          HttpClientRequest.accept("text/event-stream"),
          HttpClientRequest.bodyUnsafeJson(body),
          send,
          Effect.map(readAnswer),
          Stream.unwrapScoped
        ),
      models: HttpClientRequest.get("/models").pipe(
        HttpClientRequest.acceptJson,
        HttpClientRequest.setUrlParam("limit", wholeList),
        read,
        Effect.flatMap(entriesIn("data"))
      ),
      ask: HttpClientRequest.get("/models").pipe(
        HttpClientRequest.acceptJson,
        HttpClientRequest.setUrlParam("limit", "1"),
        ask
      )
    })
  )
