import { type HttpClient, HttpClientRequest } from "@effect/platform"
import { Effect, Either, Option, type Redacted, Schema, type Scope } from "effect"
import type { HttpExchange } from "../vendor/HttpExchange.ts"
import { readModelList } from "../vendor/ModelListBody.ts"
import { makeSingleChunkSource, type ChunkSource } from "../vendor/ChunkStage.ts"
import { makeEventDecoder, postForStream, readAnswerStream } from "../vendor/AnswerStream.ts"
import { makeVendorClient, readAllText, readMediaType, toUnexpectedMediaType } from "../vendor/VendorClient.ts"
import type { VendorEvent } from "../vendor/VendorEvent.ts"
import { VendorAnswerMalformed, type VendorFailure } from "../vendor/VendorErrors.ts"
import {
  OpenAiCompletionAnswer,
  type OpenAiCompletionBody,
  type CompletionChunk,
  OpenAiStreamEvent
} from "./OpenAiBodies.ts"
import { readOpenAiError, readOpenAiErrorBody } from "./OpenAiErrorReader.ts"

type OpenAiEvent = VendorEvent<CompletionChunk>

export interface OpenAiClient {
  /** POST /chat/completions. Ends after `done`, or when the bytes end. */
  readonly chat: (
    body: OpenAiCompletionBody
  ) => Effect.Effect<ChunkSource<OpenAiEvent, VendorFailure>, VendorFailure, Scope.Scope>
  /** The entries of GET /models. */
  readonly models: Effect.Effect<ReadonlyArray<unknown>, VendorFailure>
  /** GET of a path, for its status alone. */
  readonly probe: (path: string) => Effect.Effect<void, VendorFailure>
}

const readChunk = makeEventDecoder(OpenAiStreamEvent, (event): Either.Either<OpenAiEvent, VendorFailure> =>
  "error" in event
    ? Either.left(readOpenAiError(event.error, null, undefined))
    : Either.right({ type: "chunk", chunk: event })
)

const readEvents = readAnswerStream<CompletionChunk>({
  read: (data) => (data.trim() === "[DONE]" ? Either.right({ type: "done" }) : readChunk(data)),
  isLast: ({ type }) => type === "done"
})

/** A whole answer in the words of a streamed one. */
const readCompletion = (body: string): Effect.Effect<ReadonlyArray<OpenAiEvent>, VendorFailure> => {
  const completion = Schema.decodeUnknownOption(OpenAiCompletionAnswer)(body)
  if (Option.isNone(completion))
    return Effect.fail(new VendorAnswerMalformed({ reason: "an answer that cannot be read" }))
  if ("error" in completion.value) return Effect.fail(readOpenAiError(completion.value.error, null, undefined))
  const { choices, usage } = completion.value
  const chunk = {
    choices: choices.map(({ finish_reason, message }) => ({
      // A whole answer does not number its calls.
      delta: { ...message, tool_calls: message.tool_calls?.map((call, index) => ({ ...call, index })) },
      finish_reason: finish_reason ?? "stop"
    })),
    usage
  }
  return Effect.succeed([{ type: "chunk", chunk }, { type: "done" }])
}

const readAnswerEvents = (
  answer: HttpExchange
): Effect.Effect<ChunkSource<OpenAiEvent, VendorFailure>, VendorFailure> => {
  switch (readMediaType(answer)) {
    case "text/event-stream":
      return Effect.succeed(readEvents(answer))
    case "application/json":
      return readAllText(answer.bytes).pipe(Effect.flatMap(readCompletion), Effect.map(makeSingleChunkSource))
    default:
      return Effect.fail(toUnexpectedMediaType(answer))
  }
}

/** The wire that OpenAI, OpenRouter and Groq speak, in their words. Without a key only what needs none is answered. */
export const makeOpenAiClient = (options: {
  readonly baseUrl: string
  readonly apiKey: Redacted.Redacted | null
}): Effect.Effect<OpenAiClient, never, HttpClient.HttpClient> =>
  Effect.map(
    makeVendorClient({ ...options, keyHeader: "authorization", readError: readOpenAiErrorBody }),
    ({ probe, post, read }) => ({
      chat: (body) => postForStream(post, readAnswerEvents)("/chat/completions", body),
      models: HttpClientRequest.get("/models").pipe(
        HttpClientRequest.acceptJson,
        read,
        Effect.flatMap(readModelList("data"))
      ),
      probe: (path) => HttpClientRequest.get(path).pipe(HttpClientRequest.acceptJson, probe)
    })
  )
