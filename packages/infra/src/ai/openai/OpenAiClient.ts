import type { EmbeddingVectors } from "@berth/domain/ai/models/ModelProviders"
import { type HttpClient, HttpClientRequest } from "@effect/platform"
import { Effect, Either, Option, type Redacted, Schema } from "effect"
import {
  makeEventReader,
  readAnswerStream,
  readReported,
  type VendorAnswer,
  type VendorEvent
} from "../vendor/AnswerStream.ts"
import type { OpenedSource, StageOutput } from "../vendor/ChunkStage.ts"
import type { HttpExchange } from "../vendor/HttpExchange.ts"
import { readModelList } from "../vendor/VendorBodies.ts"
import { makeJsonBody, makeVendorClient, readMediaType, readWholeText } from "../vendor/VendorClient.ts"
import { VendorAnswerMalformed, type VendorFailure } from "../vendor/VendorErrors.ts"
import {
  type OpenAiAnswerChunk,
  type OpenAiBody,
  OpenAiCompletionAnswer,
  OpenAiStreamEvent,
  readOpenAiDelta
} from "./OpenAiBodies.ts"
import { readOpenAiError, readOpenAiErrorBody } from "./OpenAiErrors.ts"

type OpenAiEvent = VendorEvent<OpenAiAnswerChunk>

/** OpenAI's API, also offered by OpenRouter and Groq. */
export interface OpenAiClient {
  /** POST /chat/completions. Ends after `done`, or with the body. */
  readonly chat: (body: OpenAiBody) => Effect.Effect<OpenedSource<OpenAiEvent, VendorFailure>>
  /** POST /embeddings. */
  readonly embed: (body: object) => Effect.Effect<EmbeddingVectors, VendorFailure>
  /** Entries of GET /models. */
  readonly models: Effect.Effect<ReadonlyArray<unknown>, VendorFailure>
  /** GET of a path; checks only the status. */
  readonly probe: (path: string) => Effect.Effect<void, VendorFailure>
}

const readChunk = makeEventReader(
  OpenAiStreamEvent,
  (event): Either.Either<OpenAiEvent, VendorFailure> =>
    "error" in event
      ? Either.left(readOpenAiError(event.error, null, undefined))
      : Either.right({ type: "chunk", chunk: event }),
  readOpenAiDelta
)

const readStream = readAnswerStream<OpenAiAnswerChunk>({
  read: (data) => (data.trim() === "[DONE]" ? Either.right({ type: "done" }) : readChunk(data)),
  isLast: ({ type }) => type === "done"
})

const decodeCompletion = Schema.decodeUnknownOption(OpenAiCompletionAnswer)

/** Converts a complete answer to the events of a stream. */
const readCompletion = (body: string): StageOutput<OpenAiEvent, VendorFailure> => {
  const completion = decodeCompletion(body)
  if (Option.isNone(completion))
    return { values: [], failure: new VendorAnswerMalformed({ reason: "malformed answer" }) }
  if ("error" in completion.value)
    return { values: [], failure: readOpenAiError(completion.value.error, null, undefined) }
  const { choices, id, model, usage } = completion.value
  const chunk = {
    choices: choices.map(({ finish_reason, message }) => ({
      // Calls of complete answers have no index.
      delta: { ...message, tool_calls: message.tool_calls?.map((call, index) => ({ ...call, index })) },
      finish_reason: finish_reason ?? "stop"
    })),
    usage
  }
  return { values: [{ type: "chunk", chunk, reported: readReported({ id, model }) }, { type: "done" }] }
}

const readAnswer = (response: HttpExchange): VendorAnswer<OpenAiAnswerChunk> =>
  readMediaType(response) === "application/json" ? readWholeText(response.bytes, readCompletion) : readStream(response)

const EmbeddingAnswer = Schema.parseJson(
  Schema.Struct({
    // Compatible servers may ignore the encoding.
    data: Schema.Array(Schema.Struct({ embedding: Schema.Union(Schema.String, Schema.Array(Schema.Number)) })),
    usage: Schema.Struct({ prompt_tokens: Schema.Int })
  })
)

const toBase64 = (vector: string | ReadonlyArray<number>) =>
  typeof vector === "string" ? vector : Buffer.from(Float32Array.from(vector).buffer).toString("base64")

const decodeEmbeddings = Schema.decodeUnknownOption(EmbeddingAnswer)

const readEmbeddings = (body: string): StageOutput<EmbeddingVectors, VendorAnswerMalformed> =>
  Option.match(decodeEmbeddings(body), {
    onNone: () => ({ values: [], failure: new VendorAnswerMalformed({ reason: "malformed embeddings" }) }),
    onSome: ({ data, usage }) => ({
      values: [{ vectors: data.map(({ embedding }) => toBase64(embedding)), tokens: usage.prompt_tokens }]
    })
  })

/** Without a key, only public paths are accessible. */
export const makeOpenAiClient = (options: {
  readonly baseUrl: string
  readonly apiKey: Redacted.Redacted | null
}): Effect.Effect<OpenAiClient, never, HttpClient.HttpClient> =>
  Effect.map(
    makeVendorClient({ ...options, keyHeader: "authorization", readError: readOpenAiErrorBody }),
    ({ post, probe, read, send }): OpenAiClient => {
      const get = (path: string) => HttpClientRequest.acceptJson(HttpClientRequest.get(path))
      return {
        chat: (body) => post("/chat/completions", body, readAnswer),
        embed: (body) => send("/embeddings", makeJsonBody(body), ({ bytes }) => readWholeText(bytes, readEmbeddings)),
        models: Effect.flatMap(read(get("/models")), readModelList("data")),
        probe: (path) => probe(get(path))
      }
    }
  )
