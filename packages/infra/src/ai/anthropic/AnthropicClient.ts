import { type HttpClient, HttpClientRequest } from "@effect/platform"
import { Effect, Either, type Redacted, Schema, type Scope } from "effect"
import type { HttpExchange } from "../vendor/HttpExchange.ts"
import { readModelList } from "../vendor/ModelListBody.ts"
import type { ChunkSource } from "../vendor/ChunkStage.ts"
import { makeEventDecoder, postForStream, readAnswerStream } from "../vendor/AnswerStream.ts"
import { makeVendorClient, readMediaType, toUnexpectedMediaType } from "../vendor/VendorClient.ts"
import type { VendorEvent } from "../vendor/VendorEvent.ts"
import type { VendorFailure } from "../vendor/VendorErrors.ts"
import { AnthropicAnswerEvent, type MessagesBody, AnthropicStreamEvent } from "./AnthropicBodies.ts"
import { readAnthropicError, readAnthropicErrorBody } from "./AnthropicErrors.ts"

type AnthropicEvent = VendorEvent<AnthropicAnswerEvent>

export interface AnthropicClient {
  /** POST /messages. Ends after `done`, or when the bytes end. */
  readonly chat: (
    body: MessagesBody
  ) => Effect.Effect<ChunkSource<AnthropicEvent, VendorFailure>, VendorFailure, Scope.Scope>
  /** The entries of GET /models. */
  readonly models: Effect.Effect<ReadonlyArray<unknown>, VendorFailure>
  /** The cheapest call that needs a key. */
  readonly probe: Effect.Effect<void, VendorFailure>
}

// The version of the protocol; the address has one too.
const protocolVersion = "2023-06-01"

// More than there are.
const listLimit = "1000"

const isOfAnswer = Schema.is(AnthropicAnswerEvent)

const readEvents = readAnswerStream<AnthropicAnswerEvent>({
  read: makeEventDecoder(AnthropicStreamEvent, (event): Either.Either<AnthropicEvent, VendorFailure> => {
    if ("error" in event) return Either.left(readAnthropicError(event.error, null, undefined))
    if (isOfAnswer(event)) return Either.right({ type: "chunk", chunk: event })
    return Either.right({ type: event.type === "message_stop" ? "done" : "keep-alive" })
  }),
  isLast: ({ type }) => type === "done"
})

const readAnswerEvents = (
  answer: HttpExchange
): Effect.Effect<ChunkSource<AnthropicEvent, VendorFailure>, VendorFailure> =>
  readMediaType(answer) === "text/event-stream"
    ? Effect.succeed(readEvents(answer))
    : Effect.fail(toUnexpectedMediaType(answer))

/** The wire that Anthropic speaks, in its words. */
export const makeAnthropicClient = (options: {
  readonly baseUrl: string
  readonly apiKey: Redacted.Redacted
}): Effect.Effect<AnthropicClient, never, HttpClient.HttpClient> =>
  Effect.map(
    makeVendorClient({
      ...options,
      keyHeader: "x-api-key",
      headers: { "anthropic-version": protocolVersion },
      readError: readAnthropicErrorBody
    }),
    ({ probe, post, read }) => ({
      chat: (body) => postForStream(post, readAnswerEvents)("/messages", body),
      models: HttpClientRequest.get("/models").pipe(
        HttpClientRequest.acceptJson,
        HttpClientRequest.setUrlParam("limit", listLimit),
        read,
        Effect.flatMap(readModelList("data"))
      ),
      probe: HttpClientRequest.get("/models").pipe(
        HttpClientRequest.acceptJson,
        HttpClientRequest.setUrlParam("limit", "1"),
        probe
      )
    })
  )
