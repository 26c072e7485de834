import { makeChunkSource } from "@berth/domain/ai/streams/ChunkSource"
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

export interface VendorPostBody {
  readonly contentType: string
  readonly body: string | Uint8Array
  readonly accept: string
}

export interface VendorClient {
  /** POSTs a JSON body for a streamed answer. Fails for an error status; closing the scope aborts the rest. */
  readonly post: (path: string, body: object) => Effect.Effect<HttpExchange, VendorFailure, Scope.Scope>
  /** POSTs any body. */
  readonly send: (path: string, posted: VendorPostBody) => Effect.Effect<HttpExchange, VendorFailure, Scope.Scope>
  /** Reads the complete body of a response. */
  readonly read: (request: HttpClientRequest.HttpClientRequest) => Effect.Effect<string, VendorFailure>
  /** Sends a request and checks only the status. */
  readonly probe: (request: HttpClientRequest.HttpClientRequest) => Effect.Effect<void, VendorFailure>
}

export interface VendorClientOptions {
  /** Including the version. */
  readonly baseUrl: string
  /** Header of the key; `authorization` contains it as a bearer token. */
  readonly keyHeader: "authorization" | "x-api-key" | "x-goog-api-key"
  /** Null for public paths only. */
  readonly apiKey: Redacted.Redacted | null
  /** Additional headers of every request. */
  readonly headers?: Readonly<Record<string, string>>
  /** Reads the error of a response with a status of at least 400; `now` in epoch milliseconds. */
  readonly readError: (body: string, status: number, headers: Headers.Headers, now: number) => VendorRequestRejected
}

const maximumAnswerBytes = 16 * 1024 * 1024
const maximumErrorBytes = 64 * 1024

const toConnectionFailure = (error: HttpClientError.HttpClientError) =>
  new VendorConnectionFailed({
    reason: findSystemErrorCode(error.cause) ?? (error._tag === "RequestError" ? "no connection" : "connection lost")
  })

/** Reads the complete body; fails above the limit. */
export const readAllBytes = (
  bytes: ChunkSource<Uint8Array, VendorConnectionFailed>,
  limit = maximumAnswerBytes
): Effect.Effect<Uint8Array, VendorConnectionFailed | VendorAnswerMalformed> =>
  Effect.suspend(() => {
    const pieces: Array<Uint8Array> = []
    let size = 0
    const more: Effect.Effect<Uint8Array, VendorConnectionFailed | VendorAnswerMalformed> = Effect.suspend(() => {
      for (;;) {
        const batch = bytes.poll()
        if (batch === null) return Effect.zipRight(bytes.awaitMore, more)
        for (const piece of batch.values) {
          pieces.push(piece)
          size += piece.length
        }
        if (size > limit) return Effect.fail(new VendorAnswerMalformed({ reason: `answer over ${limit} bytes` }))
        if (batch.failure !== undefined) return Effect.fail(batch.failure)
        if (batch.isDone) return Effect.succeed(Buffer.concat(pieces))
      }
    })
    return more
  })

const utf8 = new TextDecoder()

export const readAllText = (
  bytes: ChunkSource<Uint8Array, VendorConnectionFailed>,
  limit = maximumAnswerBytes
): Effect.Effect<string, VendorConnectionFailed | VendorAnswerMalformed> =>
  Effect.map(readAllBytes(bytes, limit), (whole) => utf8.decode(whole))

const bytesOf = (response: HttpClientResponse.HttpClientResponse) =>
  makeChunkSource(Stream.mapError(response.stream, toConnectionFailure))

/** Returns the media type of a response; empty without one. */
export const readMediaType = ({ headers }: Pick<HttpExchange, "headers">): string =>
  (headers["content-type"] ?? "").replace(/;.*$/s, "").trim().toLowerCase()

export const toUnexpectedMediaType = (answer: HttpExchange): VendorAnswerMalformed =>
  new VendorAnswerMalformed({
    reason: `answered ${readMediaType(answer) === "" ? "without a media type" : readMediaType(answer)}`
  })

/** Forwards successful responses; reads the error of failed ones. */
const requireSuccess =
  (readError: VendorClientOptions["readError"]) =>
  (answer: HttpExchange): Effect.Effect<HttpExchange, VendorRequestRejected | VendorAnswerMalformed> => {
    if (answer.status >= 200 && answer.status < 300) return Effect.succeed(answer)
    if (answer.status < 400) return Effect.fail(new VendorAnswerMalformed({ reason: `answered ${answer.status}` }))
    return Effect.gen(function* () {
      const body = yield* Effect.orElseSucceed(readAllText(answer.bytes, maximumErrorBytes), () => "")
      const now = yield* Clock.currentTimeMillis
      return yield* readError(body, answer.status, answer.headers, now)
    })
  }

/** Does not follow redirects, which could disclose the key and the conversation to another host. */
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
          // Spans contain every header not redacted here.
          Effect.locallyWith(Headers.currentRedactedNames, (names) => [...names, keyHeader])
        )
      ),
      // Aborts an unread response.
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
        post({ url: new URL(address + path), headers: { accept, "content-type": contentType, ...keyed() }, body }),
        requireSuccess(readError)
      )
    return {
      send,
      post: (path, body) =>
        send(path, { accept: "text/event-stream", contentType: "application/json", body: JSON.stringify(body) }),
      read: (request) =>
        execute(request).pipe(
          Effect.flatMap(({ bytes }) => readAllText(bytes)),
          Effect.scoped
        ),
      probe: (request) => execute(request).pipe(Effect.scoped, Effect.asVoid)
    }
  })
