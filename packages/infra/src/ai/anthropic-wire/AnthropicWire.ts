import { type HttpClient, HttpClientRequest } from "@effect/platform"
import { Effect, Either, type Redacted, Schema, type Scope } from "effect"
import type { Exchange } from "../wire/Exchange.ts"
import { entriesIn } from "../wire/ModelList.ts"
import type { Pull } from "../wire/Pull.ts"
import { eventReader, postForStream, readStream } from "../wire/ReadStream.ts"
import { makeVendorClient, typeOf, unexpectedType } from "../wire/VendorClient.ts"
import type { WireEvent } from "../wire/WireEvent.ts"
import type { WireFailure } from "../wire/WireFailure.ts"
import { AnswerEvent, type MessagesBody, StreamEvent } from "./WireBodies.ts"
import { refusalOf, refusalOfBody } from "./WireRefusals.ts"

type AnthropicEvent = WireEvent<AnswerEvent>

export interface AnthropicWire {
  /** POST /messages. Ends after `done`, or when the bytes end. */
  readonly chat: (body: MessagesBody) => Effect.Effect<Pull<AnthropicEvent, WireFailure>, WireFailure, Scope.Scope>
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

const readEvents = readStream<AnswerEvent>({
  read: eventReader(StreamEvent, (event): Either.Either<AnthropicEvent, WireFailure> => {
    if ("error" in event) return Either.left(refusalOf(event.error, null, undefined))
    if (isOfAnswer(event)) return Either.right({ type: "chunk", chunk: event })
    return Either.right({ type: event.type === "message_stop" ? "done" : "sign-of-life" })
  }),
  isLast: ({ type }) => type === "done"
})

const readAnswer = (answer: Exchange): Effect.Effect<Pull<AnthropicEvent, WireFailure>, WireFailure> =>
  typeOf(answer) === "text/event-stream" ? Effect.succeed(readEvents(answer)) : Effect.fail(unexpectedType(answer))

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
    ({ ask, post, read }) => ({
      chat: (body) => postForStream(post, readAnswer)("/messages", body),
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
