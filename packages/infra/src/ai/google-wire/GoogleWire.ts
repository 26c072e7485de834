import { type HttpClient, HttpClientRequest } from "@effect/platform"
import { Effect, Either, type Redacted, type Scope } from "effect"
import type { Exchange } from "../wire/Exchange.ts"
import { entriesIn } from "../wire/ModelList.ts"
import type { Pull } from "../wire/Pull.ts"
import { eventReader, postForStream, readStream } from "../wire/ReadStream.ts"
import { makeVendorClient, typeOf, unexpectedType } from "../wire/VendorClient.ts"
import type { WireEvent } from "../wire/WireEvent.ts"
import type { WireFailure } from "../wire/WireFailure.ts"
import { isLast } from "./ReadAnswer.ts"
import { failOnStrayError } from "./StrayError.ts"
import { type AnswerChunk, type GenerateBody, StreamEvent } from "./WireBodies.ts"
import { refusalOf, refusalOfBody } from "./WireRefusals.ts"

type GoogleEvent = WireEvent<AnswerChunk>

export interface GoogleWire {
  /** POST /models/<model>:streamGenerateContent. Ends after the chunk with a reason to, or when the bytes end. */
  readonly chat: (
    model: string,
    body: GenerateBody
  ) => Effect.Effect<Pull<GoogleEvent, WireFailure>, WireFailure, Scope.Scope>
  /** The entries of GET /models. */
  readonly models: Effect.Effect<ReadonlyArray<unknown>, WireFailure>
  /** The cheapest call that needs a key. */
  readonly ask: Effect.Effect<void, WireFailure>
}

// More than there are.
const wholeList = "1000"

const readEvents = readStream<AnswerChunk>({
  read: eventReader(StreamEvent, (event): Either.Either<GoogleEvent, WireFailure> =>
    "error" in event
      ? Either.left(refusalOf(event.error, null, undefined))
      : Either.right({ type: "chunk", chunk: event })
  ),
  isLast: (event) => event.type === "chunk" && isLast(event.chunk),
  before: failOnStrayError
})

const readAnswer = (answer: Exchange): Effect.Effect<Pull<GoogleEvent, WireFailure>, WireFailure> =>
  typeOf(answer) === "text/event-stream" ? Effect.succeed(readEvents(answer)) : Effect.fail(unexpectedType(answer))

/** The wire that Google's Gemini API speaks, in its words. The key is in a header, since addresses are logged. */
export const makeGoogleWire = (options: {
  readonly baseUrl: string
  readonly apiKey: Redacted.Redacted
}): Effect.Effect<GoogleWire, never, HttpClient.HttpClient> =>
  Effect.map(
    makeVendorClient({ ...options, keyHeader: "x-goog-api-key", readRefusal: refusalOfBody }),
    ({ ask, post, read }) => ({
      chat: (model, body) =>
        postForStream(post, readAnswer)(`/models/${encodeURIComponent(model)}:streamGenerateContent?alt=sse`, body),
      models: HttpClientRequest.get("/models").pipe(
        HttpClientRequest.acceptJson,
        HttpClientRequest.setUrlParam("pageSize", wholeList),
        read,
        Effect.flatMap(entriesIn("models"))
      ),
      ask: HttpClientRequest.get("/models").pipe(
        HttpClientRequest.acceptJson,
        HttpClientRequest.setUrlParam("pageSize", "1"),
        ask
      )
    })
  )
