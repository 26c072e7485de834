import { readNext, makeChunkSource } from "@berth/domain/ai/streams/ChunkSource"
import { Headers, HttpClient, type HttpClientError, HttpClientRequest, type HttpClientResponse } from "@effect/platform"
import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import { Clock, Effect, Redacted, type Scope, Stream } from "effect"
import { findSystemErrorCode, type HttpExchange, post } from "./HttpExchange.ts"
import type { ChunkSource } from "./ChunkStage.ts"
import {
  VendorAnswerMalformed,
  type VendorRequestRejected,
  VendorConnectionFailed,
  type VendorFailure
} from "./VendorErrors.ts"

/** Body of a POST and the expected media type of the response. */
export interface VendorPostBody {
  readonly contentType: string
  readonly body: string | Uint8Array
  readonly accept: string
}

/** A vendor's server. */
export interface VendorClient {
  /** POST of a JSON body for an answer as it comes, if it succeeded; what is left of it goes with the scope. */
  readonly post: (path: string, body: object) => Effect.Effect<HttpExchange, VendorFailure, Scope.Scope>
  /** The same of any body. */
  readonly send: (path: string, posted: VendorPostBody) => Effect.Effect<HttpExchange, VendorFailure, Scope.Scope>
  /** The whole body of a response. */
  readonly read: (request: HttpClientRequest.HttpClientRequest) => Effect.Effect<string, VendorFailure>
  /** A request for its status alone. */
  readonly probe: (request: HttpClientRequest.HttpClientRequest) => Effect.Effect<void, VendorFailure>
}

export interface VendorClientOptions {
  /** With the version. */
  readonly baseUrl: string
  /** The header that the key goes in, as a bearer's where it is `authorization`. */
  readonly keyHeader: "authorization" | "x-api-key" | "x-goog-api-key"
  /** Null where only what is public is asked for. */
  readonly apiKey: Redacted.Redacted | null
  /** Headers of every request. */
  readonly headers?: Readonly<Record<string, string>>
  /** The refusal in the body of an answer whose status, of at least 400, says that it failed; `now` in epoch milliseconds. */
  readonly readError: (body: string, status: number, headers: Headers.Headers, now: number) => VendorRequestRejected
}

const maximumAnswerBytes = 16 * 1024 * 1024
const maximumErrorBytes = 64 * 1024

const toConnectionFailure = (error: HttpClientError.HttpClientError) =>
  new VendorConnectionFailed({
    reason:
      findSystemErrorCode(error.cause) ?? (error._tag === "RequestError" ? "no connection" : "the connection broke off")
  })

/** All of a body; one without an end is none. */
export const readAllBytes = (
  bytes: ChunkSource<Uint8Array, VendorConnectionFailed>,
  limit = maximumAnswerBytes
): Effect.Effect<Uint8Array, VendorConnectionFailed | VendorAnswerMalformed> =>
  Effect.suspend(() => {
    const pieces: Array<Uint8Array> = []
    let size = 0
    const more: Effect.Effect<Uint8Array, VendorConnectionFailed | VendorAnswerMalformed> = Effect.flatMap(
      readNext(bytes),
      ({ failure, isDone, values }) => {
        for (const piece of values) {
          pieces.push(piece)
          size += piece.length
        }
        if (size > limit) return Effect.fail(new VendorAnswerMalformed({ reason: "an answer without an end" }))
        if (failure !== undefined) return Effect.fail(failure)
        return isDone ? Effect.sync(() => Buffer.concat(pieces)) : more
      }
    )
    return more
  })

/** The text of a body. */
export const readAllText = (
  bytes: ChunkSource<Uint8Array, VendorConnectionFailed>,
  limit = maximumAnswerBytes
): Effect.Effect<string, VendorConnectionFailed | VendorAnswerMalformed> =>
  Effect.map(readAllBytes(bytes, limit), (whole) => new TextDecoder().decode(whole))

const bytesOf = (response: HttpClientResponse.HttpClientResponse) =>
  makeChunkSource(Stream.mapError(response.stream, toConnectionFailure))

/** The media type of an answer, empty where it has none. */
export const readMediaType = ({ headers }: Pick<HttpExchange, "headers">): string =>
  (headers["content-type"] ?? "").replace(/;.*$/s, "").trim().toLowerCase()

/** An answer of a type that this wire does not speak. */
export const toUnexpectedMediaType = (answer: HttpExchange): VendorAnswerMalformed =>
  new VendorAnswerMalformed({
    reason: `answered ${readMediaType(answer) === "" ? "without a type" : readMediaType(answer)}`
  })

/** Passes an answer that succeeded on; a refusal's body is read for its reason, as far as it goes. */
const requireSuccess =
  (readRefusal: VendorClientOptions["readError"]) =>
  (answer: HttpExchange): Effect.Effect<HttpExchange, VendorRequestRejected | VendorAnswerMalformed> => {
    if (answer.status >= 200 && answer.status < 300) return Effect.succeed(answer)
    if (answer.status < 400) return Effect.fail(new VendorAnswerMalformed({ reason: `answered ${answer.status}` }))
    return Effect.gen(function* () {
      const body = yield* Effect.orElseSucceed(readAllText(answer.bytes, maximumErrorBytes), () => "")
      const now = yield* Clock.currentTimeMillis
      return yield* readRefusal(body, answer.status, answer.headers, now)
    })
  }

/**
 * A vendor's server at an address with a key. Redirects are not followed, since they could lead the key and what people
 * write to somebody else.
 */
export const makeVendorClient = ({
  apiKey,
  baseUrl,
  headers = {},
  keyHeader,
  readError
}: VendorClientOptions): Effect.Effect<VendorClient, never, HttpClient.HttpClient> =>
  Effect.map(HttpClient.HttpClient, (http) => {
    const address = baseUrl.replace(/\/+$/, "")
    const keyed = (): Readonly<Record<string, string>> => {
      if (apiKey === null) return headers
      const key = Redacted.value(apiKey)
      return { ...headers, [keyHeader]: keyHeader === "authorization" ? `Bearer ${key}` : key }
    }
    const client = http.pipe(
      HttpClient.withTracerPropagation(false),
      HttpClient.mapRequest((request) =>
        request.pipe(HttpClientRequest.prependUrl(address), HttpClientRequest.setHeaders(keyed()))
      ),
      HttpClient.transformResponse((response) =>
        response.pipe(
          Effect.provideService(FetchHttpClient.RequestInit, { redirect: "manual" }),
          // Spans show every header that is not named here.
          Effect.locallyWith(Headers.currentRedactedNames, (names) => [...names, keyHeader])
        )
      ),
      // Whatever is left of an answer when nobody reads on is called off.
      HttpClient.withScope
    )
    const execute = (request: HttpClientRequest.HttpClientRequest) =>
      client.execute(request).pipe(
        Effect.mapError(toConnectionFailure),
        Effect.flatMap((response) =>
          Effect.map(bytesOf(response), (bytes) => ({ status: response.status, headers: response.headers, bytes }))
        ),
        Effect.flatMap(requireSuccess(readError))
      )
    const send: VendorClient["send"] = (path, { accept, body, contentType }) =>
      Effect.flatMap(
        Effect.suspend(() =>
          post({ url: new URL(address + path), headers: { accept, "content-type": contentType, ...keyed() }, body })
        ),
        requireSuccess(readError)
      )
    return {
      send,
      post: (path, body) =>
        Effect.suspend(() =>
          send(path, {
            accept: "text/event-stream",
            contentType: "application/json",
            body: JSON.stringify(body)
          })
        ),
      read: (request) =>
        execute(request).pipe(
          Effect.flatMap(({ bytes }) => readAllText(bytes)),
          Effect.scoped
        ),
      probe: (request) => execute(request).pipe(Effect.scoped, Effect.asVoid)
    }
  })
