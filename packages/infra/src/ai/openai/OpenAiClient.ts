import type { EmbeddingVectors } from "@berth/domain/ai/models/ModelProviders"
import { Effect, Either, Option, Schema } from "effect"
import { makeEventReader, readAnswerStream, type VendorAnswer, type VendorEvent } from "../vendor/AnswerStream.ts"
import type { StageOutput } from "../vendor/ChunkStage.ts"
import type { HttpExchange } from "../vendor/HttpExchange.ts"
import { readModelList } from "../vendor/VendorBodies.ts"
import {
  makeJsonBody,
  makeVendorClient,
  readMediaType,
  readWholeText,
  type VendorAccess
} from "../vendor/VendorClient.ts"
import { VendorAnswerMalformed, type VendorFailure } from "../vendor/VendorErrors.ts"
import type { VendorModelClient } from "../vendor/VendorModelProvider.ts"
import { readOpenAiAnswer } from "./OpenAiAnswer.ts"
import { type OpenAiAnswerChunk, OpenAiCompletionAnswer, OpenAiStreamEvent, readOpenAiText } from "./OpenAiBodies.ts"
import { classifyOpenAiFailure, readOpenAiError, readOpenAiErrorBody } from "./OpenAiErrors.ts"
import { type OpenAiCompatibleProvider, toOpenAiModelName } from "./OpenAiModelName.ts"
import { makeOpenAiRequest } from "./OpenAiRequest.ts"

type OpenAiEvent = VendorEvent<OpenAiAnswerChunk>

const readChunk = makeEventReader(
  OpenAiStreamEvent,
  (event): Either.Either<OpenAiEvent, VendorFailure> =>
    "error" in event
      ? Either.left(readOpenAiError(event.error, null, undefined))
      : Either.right({ type: "chunk", chunk: event }),
  readOpenAiText
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
  return { values: [{ type: "chunk", chunk, received: { id, model } }, { type: "done" }] }
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

/** OpenAI's API, also offered by OpenRouter, Groq and compatible servers. */
export const makeOpenAiClient = (provider: OpenAiCompatibleProvider, access: VendorAccess): VendorModelClient => {
  const { post, probe, read, send } = makeVendorClient({
    ...access,
    keyHeader: "authorization",
    readError: readOpenAiErrorBody
  })
  const probeModels = probe("/models")
  // OpenRouter's model list is public, so it does not check the key.
  const probeKey = provider === "openrouter" ? probe("/key") : probeModels
  return {
    chat: (model, messages, options) => {
      const toModelEvents = readOpenAiAnswer({ provider, model, messages })
      const body = makeOpenAiRequest(provider, model, messages, options)
      return post("/chat/completions", body, (response) => toModelEvents(readAnswer(response)))
    },
    // The other compatible providers have no embeddings, or none with a list price.
    ...(provider === "openai" && {
      embed: (model, { dimensions, input }) => {
        const body = { model: toOpenAiModelName(provider, model), input, dimensions, encoding_format: "base64" }
        return send("/embeddings", makeJsonBody(body), ({ bytes }) => readWholeText(bytes, readEmbeddings))
      }
    }),
    models: Effect.flatMap(read("/models"), readModelList("data")),
    probe: probeKey,
    // Servers compatible with OpenRouter may lack its key path.
    health: Effect.catchIf(
      probeKey,
      (failure) => provider === "openrouter" && failure._tag === "VendorRequestRejected" && failure.status === 404,
      () => probeModels
    ),
    classify: classifyOpenAiFailure
  }
}
