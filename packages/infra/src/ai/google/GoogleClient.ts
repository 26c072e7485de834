import { type HttpClient, HttpClientRequest } from "@effect/platform"
import { Effect, Either, type Redacted } from "effect"
import { makeEventReader, readAnswerStream, type VendorEvent } from "../vendor/AnswerStream.ts"
import type { OpenedSource } from "../vendor/ChunkStage.ts"
import { readModelList } from "../vendor/VendorBodies.ts"
import { makeVendorClient } from "../vendor/VendorClient.ts"
import type { VendorFailure } from "../vendor/VendorErrors.ts"
import { isLastGoogleChunk } from "./GoogleAnswer.ts"
import { type GoogleAnswerChunk, type GoogleBody, GoogleStreamEvent, readGoogleDelta } from "./GoogleBodies.ts"
import { failOnStreamError, readGoogleError, readGoogleErrorBody } from "./GoogleErrors.ts"

/** Google's Gemini API. */
export interface GoogleClient {
  /** POST /models/<model>:streamGenerateContent. Ends after the chunk with a finish reason, or with the body. */
  readonly chat: (
    model: string,
    body: GoogleBody
  ) => Effect.Effect<OpenedSource<VendorEvent<GoogleAnswerChunk>, VendorFailure>>
  /** Entries of GET /models. */
  readonly models: Effect.Effect<ReadonlyArray<unknown>, VendorFailure>
  /** The cheapest call that requires a key. */
  readonly probe: Effect.Effect<void, VendorFailure>
}

/** The vendor's maximum. */
const maximumListLength = "1000"

const readAnswer = readAnswerStream<GoogleAnswerChunk>({
  read: makeEventReader(
    GoogleStreamEvent,
    (event): Either.Either<VendorEvent<GoogleAnswerChunk>, VendorFailure> =>
      "error" in event
        ? Either.left(readGoogleError(event.error, null, undefined))
        : Either.right({ type: "chunk", chunk: event }),
    readGoogleDelta
  ),
  isLast: (event) => event.type === "chunk" && isLastGoogleChunk(event.chunk),
  before: failOnStreamError
})

/** The key is sent in a header, since addresses are logged. */
export const makeGoogleClient = (options: {
  readonly baseUrl: string
  readonly apiKey: Redacted.Redacted
}): Effect.Effect<GoogleClient, never, HttpClient.HttpClient> =>
  Effect.map(
    makeVendorClient({ ...options, keyHeader: "x-goog-api-key", readError: readGoogleErrorBody }),
    ({ post, probe, read }): GoogleClient => {
      const list = (pageSize: string) =>
        HttpClientRequest.get("/models").pipe(
          HttpClientRequest.acceptJson,
          HttpClientRequest.setUrlParam("pageSize", pageSize)
        )
      return {
        chat: (model, body) =>
          post(`/models/${encodeURIComponent(model)}:streamGenerateContent?alt=sse`, body, readAnswer),
        models: Effect.flatMap(read(list(maximumListLength)), readModelList("models")),
        probe: probe(list("1"))
      }
    }
  )
