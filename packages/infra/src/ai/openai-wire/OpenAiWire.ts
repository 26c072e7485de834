import { type HttpClient, HttpClientRequest } from "@effect/platform"
import { Effect, Either, Option, type Redacted, Schema, type Scope } from "effect"
import type { Exchange } from "../wire/Exchange.ts"
import { entriesIn } from "../wire/ModelList.ts"
import { once, type Pull } from "../wire/Pull.ts"
import { eventReader, postForStream, readStream } from "../wire/ReadStream.ts"
import { makeVendorClient, textOf, typeOf, unexpectedType } from "../wire/VendorClient.ts"
import type { WireEvent } from "../wire/WireEvent.ts"
import { AnswerIsNonsense, type WireFailure } from "../wire/WireFailure.ts"
import { Completion, type CompletionBody, type CompletionChunk, StreamEvent } from "./WireBodies.ts"
import { refusalOf, refusalOfBody } from "./WireRefusals.ts"

type OpenAiEvent = WireEvent<CompletionChunk>

export interface OpenAiWire {
  /** POST /chat/completions. Ends after `done`, or when the bytes end. */
  readonly chat: (body: CompletionBody) => Effect.Effect<Pull<OpenAiEvent, WireFailure>, WireFailure, Scope.Scope>
  /** The entries of GET /models. */
  readonly models: Effect.Effect<ReadonlyArray<unknown>, WireFailure>
  /** GET of a path, for its status alone. */
  readonly ask: (path: string) => Effect.Effect<void, WireFailure>
}

const readChunk = eventReader(StreamEvent, (event): Either.Either<OpenAiEvent, WireFailure> =>
  "error" in event
    ? Either.left(refusalOf(event.error, null, undefined))
    : Either.right({ type: "chunk", chunk: event })
)

const readEvents = readStream<CompletionChunk>({
  read: (data) => (data.trim() === "[DONE]" ? Either.right({ type: "done" }) : readChunk(data)),
  isLast: ({ type }) => type === "done"
})

/** A whole answer in the words of a streamed one. */
const readCompletion = (body: string): Effect.Effect<ReadonlyArray<OpenAiEvent>, WireFailure> => {
  const completion = Schema.decodeUnknownOption(Completion)(body)
  if (Option.isNone(completion)) return Effect.fail(new AnswerIsNonsense({ reason: "an answer that cannot be read" }))
  if ("error" in completion.value) return Effect.fail(refusalOf(completion.value.error, null, undefined))
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

const readAnswer = (answer: Exchange): Effect.Effect<Pull<OpenAiEvent, WireFailure>, WireFailure> => {
  switch (typeOf(answer)) {
    case "text/event-stream":
      return Effect.succeed(readEvents(answer))
    case "application/json":
      return textOf(answer.bytes).pipe(Effect.flatMap(readCompletion), Effect.map(once))
    default:
      return Effect.fail(unexpectedType(answer))
  }
}

/** The wire that OpenAI, OpenRouter and Groq speak, in their words. Without a key only what needs none is answered. */
export const makeOpenAiWire = (options: {
  readonly baseUrl: string
  readonly apiKey: Redacted.Redacted | null
}): Effect.Effect<OpenAiWire, never, HttpClient.HttpClient> =>
  Effect.map(
    makeVendorClient({ ...options, keyHeader: "authorization", readRefusal: refusalOfBody }),
    ({ ask, post, read }) => ({
      chat: (body) => postForStream(post, readAnswer)("/chat/completions", body),
      models: HttpClientRequest.get("/models").pipe(
        HttpClientRequest.acceptJson,
        read,
        Effect.flatMap(entriesIn("data"))
      ),
      ask: (path) => HttpClientRequest.get(path).pipe(HttpClientRequest.acceptJson, ask)
    })
  )
