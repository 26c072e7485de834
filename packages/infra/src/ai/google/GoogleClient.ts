import { type HttpClient, HttpClientRequest } from "@effect/platform"
import { Effect, Either, type Redacted, type Scope } from "effect"
import type { HttpExchange } from "../vendor/HttpExchange.ts"
import { readModelList } from "../vendor/ModelListBody.ts"
import type { ChunkSource } from "../vendor/ChunkStage.ts"
import { makeEventDecoder, postForStream, readAnswerStream } from "../vendor/AnswerStream.ts"
import { makeVendorClient, readMediaType, toUnexpectedMediaType } from "../vendor/VendorClient.ts"
import type { VendorEvent } from "../vendor/VendorEvent.ts"
import type { VendorFailure } from "../vendor/VendorErrors.ts"
import { isLastGoogleChunk } from "./GoogleAnswer.ts"
import { failOnStreamError } from "./GoogleStreamError.ts"
import { type GoogleAnswerChunk, type GenerateBody, GoogleStreamEvent } from "./GoogleBodies.ts"
import { readGoogleError, readGoogleErrorBody } from "./GoogleErrors.ts"

type GoogleEvent = VendorEvent<GoogleAnswerChunk>

export interface GoogleClient {
  /** POST /models/<model>:streamGenerateContent. Ends after the chunk with a reason to, or when the bytes end. */
  readonly chat: (
    model: string,
    body: GenerateBody
  ) => Effect.Effect<ChunkSource<GoogleEvent, VendorFailure>, VendorFailure, Scope.Scope>
  /** The entries of GET /models. */
  readonly models: Effect.Effect<ReadonlyArray<unknown>, VendorFailure>
  /** The cheapest call that needs a key. */
  readonly probe: Effect.Effect<void, VendorFailure>
}

// More than there are.
const listLimit = "1000"

const readEvents = readAnswerStream<GoogleAnswerChunk>({
  read: makeEventDecoder(GoogleStreamEvent, (event): Either.Either<GoogleEvent, VendorFailure> =>
    "error" in event
      ? Either.left(readGoogleError(event.error, null, undefined))
      : Either.right({ type: "chunk", chunk: event })
  ),
  isLast: (event) => event.type === "chunk" && isLastGoogleChunk(event.chunk),
  before: failOnStreamError
})

const readAnswerEvents = (
  answer: HttpExchange
): Effect.Effect<ChunkSource<GoogleEvent, VendorFailure>, VendorFailure> =>
  readMediaType(answer) === "text/event-stream"
    ? Effect.succeed(readEvents(answer))
    : Effect.fail(toUnexpectedMediaType(answer))

/** The wire that Google's Gemini API speaks, in its words. The key is in a header, since addresses are logged. */
export const makeGoogleClient = (options: {
  readonly baseUrl: string
  readonly apiKey: Redacted.Redacted
}): Effect.Effect<GoogleClient, never, HttpClient.HttpClient> =>
  Effect.map(
    makeVendorClient({ ...options, keyHeader: "x-goog-api-key", readError: readGoogleErrorBody }),
    ({ probe, post, read }) => ({
      chat: (model, body) =>
        postForStream(post, readAnswerEvents)(
          `/models/${encodeURIComponent(model)}:streamGenerateContent?alt=sse`,
          body
        ),
      models: HttpClientRequest.get("/models").pipe(
        HttpClientRequest.acceptJson,
        HttpClientRequest.setUrlParam("pageSize", listLimit),
        read,
        Effect.flatMap(readModelList("models"))
      ),
      probe: HttpClientRequest.get("/models").pipe(
        HttpClientRequest.acceptJson,
        HttpClientRequest.setUrlParam("pageSize", "1"),
        probe
      )
    })
  )
