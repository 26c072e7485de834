import { Effect, Either } from "effect"
import { makeEventReader, readAnswerStream, type VendorEvent } from "../vendor/AnswerStream.ts"
import { readModelList } from "../vendor/VendorBodies.ts"
import { makeVendorClient, type VendorAccess } from "../vendor/VendorClient.ts"
import type { VendorFailure } from "../vendor/VendorErrors.ts"
import type { VendorModelClient } from "../vendor/VendorModelProvider.ts"
import { isLastGoogleChunk, readGoogleAnswer } from "./GoogleAnswer.ts"
import { type GoogleAnswerChunk, GoogleStreamEvent, readGoogleDelta } from "./GoogleBodies.ts"
import { classifyGoogleFailure, failOnStreamError, readGoogleError, readGoogleErrorBody } from "./GoogleErrors.ts"
import { toGoogleModelName } from "./GoogleModelName.ts"
import { makeGoogleRequest } from "./GoogleRequest.ts"

/** The vendor's maximum. */
const maximumListLength = 1000

const readStream = readAnswerStream<GoogleAnswerChunk>({
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

/** Google's Gemini API. The key is sent in a header, since addresses are logged. */
export const makeGoogleClient = (access: VendorAccess): VendorModelClient => {
  const { post, probe, read } = makeVendorClient({
    ...access,
    keyHeader: "x-goog-api-key",
    readError: readGoogleErrorBody
  })
  return {
    chat: (model, messages, options) => {
      const readAnswer = readGoogleAnswer({ provider: "google", model, messages })
      const path = `/models/${encodeURIComponent(toGoogleModelName(model))}:streamGenerateContent?alt=sse`
      return post(path, makeGoogleRequest(model, messages, options), (response) => readAnswer(readStream(response)))
    },
    models: Effect.flatMap(read(`/models?pageSize=${maximumListLength}`), readModelList("models")),
    probe: probe("/models?pageSize=1"),
    classify: classifyGoogleFailure
  }
}
