import { type HttpClient, HttpClientRequest } from "@effect/platform"
import { Effect, Either, type Redacted, Schema } from "effect"
import { makeEventReader, readAnswerStream, type VendorEvent } from "../vendor/AnswerStream.ts"
import type { OpenedSource } from "../vendor/ChunkStage.ts"
import { readModelList } from "../vendor/VendorBodies.ts"
import { makeVendorClient } from "../vendor/VendorClient.ts"
import type { VendorFailure } from "../vendor/VendorErrors.ts"
import {
  AnthropicAnswerEvent,
  type AnthropicBody,
  AnthropicStreamEvent,
  readAnthropicDelta
} from "./AnthropicBodies.ts"
import { readAnthropicError, readAnthropicErrorBody } from "./AnthropicErrors.ts"

/** Anthropic's API. */
export interface AnthropicClient {
  /** POST /messages. Ends after `done`, or with the body. */
  readonly chat: (body: AnthropicBody) => Effect.Effect<OpenedSource<VendorEvent<AnthropicAnswerEvent>, VendorFailure>>
  /** Entries of GET /models. */
  readonly models: Effect.Effect<ReadonlyArray<unknown>, VendorFailure>
  /** The cheapest call that requires a key. */
  readonly probe: Effect.Effect<void, VendorFailure>
}

/** Header `anthropic-version`; the address has a separate version. */
const protocolVersion = "2023-06-01"

/** The vendor's maximum. */
const maximumListLength = "1000"

const isAnswerEvent = Schema.is(AnthropicAnswerEvent)

const readAnswer = readAnswerStream<AnthropicAnswerEvent>({
  read: makeEventReader(
    AnthropicStreamEvent,
    (event): Either.Either<VendorEvent<AnthropicAnswerEvent>, VendorFailure> => {
      if ("error" in event) return Either.left(readAnthropicError(event.error, null, undefined))
      if (isAnswerEvent(event)) return Either.right({ type: "chunk", chunk: event })
      return Either.right({ type: event.type === "message_stop" ? "done" : "keep-alive" })
    },
    readAnthropicDelta
  ),
  isLast: ({ type }) => type === "done"
})

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
    ({ post, probe, read }): AnthropicClient => {
      const list = (limit: string) =>
        HttpClientRequest.get("/models").pipe(
          HttpClientRequest.acceptJson,
          HttpClientRequest.setUrlParam("limit", limit)
        )
      return {
        chat: (body) => post("/messages", body, readAnswer),
        models: Effect.flatMap(read(list(maximumListLength)), readModelList("data")),
        probe: probe(list("1"))
      }
    }
  )
