import { makeChunkSource, readNext } from "@berth/domain/ai/streams/ChunkSource"
import { Headers, HttpClient, type HttpClientError, HttpClientRequest, type HttpClientResponse } from "@effect/platform"
import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import { Effect, Redacted, Stream } from "effect"
import { findSystemErrorCode, type HttpExchange, post } from "./HttpExchange.ts"
import {
  applyStage,
  type ChunkSource,
  continueSource,
  makeSingleChunkSource,
  mapChunkFailure,
  type OpenedSource,
  type StageOutput
} from "./ChunkStage.ts"
import {
  VendorAnswerMalformed,
  type VendorRequestRejected,
  VendorConnectionFailed,
  type VendorFailure
} from "./VendorErrors.ts"

interface VendorPostBody {
  readonly contentType: string
  readonly body: string | Uint8Array
  readonly accept: string
}

/** Reads the values of a successful response. */
type ReadResponse<A, E = VendorFailure> = (response: HttpExchange) => ChunkSource<A, E>

interface VendorClient {
  /** POSTs a JSON body for a streamed answer. The source fails for an error status; closing it aborts the rest. */
  readonly post: <A, E>(
    path: string,
    body: object,
    read: ReadResponse<A, E>
  ) => Effect.Effect<OpenedSource<A, E | VendorFailure>>
  /** POSTs any body for one value. */
  readonly send: <A>(path: string, posted: VendorPostBody, read: ReadResponse<A>) => Effect.Effect<A, VendorFailure>
  /** Reads the complete body of a response. */
  readonly read: (request: HttpClientRequest.HttpClientRequest) => Effect.Effect<string, VendorFailure>
  /** Sends a request and checks only the status. */
  readonly probe: (request: HttpClientRequest.HttpClientRequest) => Effect.Effect<void, VendorFailure>
}

/** An account at a vendor. */
export interface VendorAccess {
  /** Null for public paths only. */
  readonly apiKey: Redacted.Redacted | null
  /** Including the version. */
  readonly baseUrl: string
}

interface VendorClientOptions extends VendorAccess {
  /** Header of the key; `authorization` contains it as a bearer token. */
  readonly keyHeader: "authorization" | "x-api-key" | "x-goog-api-key"
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

/** Reads the complete body by `read`; fails above the limit. */
export const readWhole = <B, E>(
  bytes: ChunkSource<Uint8Array, VendorConnectionFailed>,
  read: (body: Buffer) => StageOutput<B, E>,
  limit = maximumAnswerBytes
): ChunkSource<B, E | VendorConnectionFailed | VendorAnswerMalformed> => {
  const chunks: Array<Uint8Array> = []
  let size = 0
  return applyStage(bytes, {
    step: (values): StageOutput<B, VendorAnswerMalformed> => {
      chunks.push(...values)
      for (const chunk of values) size += chunk.length
      return size > limit
        ? { values: [], failure: new VendorAnswerMalformed({ reason: `answer over ${limit} bytes` }) }
        : { values: [] }
    },
    end: (): StageOutput<B, E | VendorAnswerMalformed> => read(Buffer.concat(chunks))
  })
}

/** Reads the first value of a source. */
const takeFirst = <A, E>(source: ChunkSource<A, E>): Effect.Effect<A, E | VendorAnswerMalformed> => {
  const next: Effect.Effect<A, E | VendorAnswerMalformed> = Effect.flatMap(
    readNext(source),
    ({ failure, isDone, values }) => {
      if (values[0] !== undefined) return Effect.succeed(values[0])
      if (failure !== undefined) return Effect.fail(failure)
      return isDone ? Effect.fail(new VendorAnswerMalformed({ reason: "answer without a value" })) : next
    }
  )
  return next
}

const utf8 = new TextDecoder()

export const readWholeText = <B, E>(
  bytes: ChunkSource<Uint8Array, VendorConnectionFailed>,
  read: (text: string) => StageOutput<B, E>,
  limit = maximumAnswerBytes
) => readWhole(bytes, (body) => read(utf8.decode(body)), limit)

/** A JSON body for a JSON answer. */
export const makeJsonBody = (body: object): VendorPostBody => ({
  contentType: "application/json",
  accept: "application/json",
  body: JSON.stringify(body)
})

const bytesOf = (response: HttpClientResponse.HttpClientResponse) =>
  makeChunkSource(Stream.mapError(response.stream, toConnectionFailure))

/** Returns the media type of a response; empty without one. */
export const readMediaType = ({ headers }: Pick<HttpExchange, "headers">): string =>
  (headers["content-type"] ?? "").replace(/;.*$/s, "").trim().toLowerCase()

export const toUnexpectedMediaType = (answer: HttpExchange): VendorAnswerMalformed =>
  new VendorAnswerMalformed({
    reason: `answered ${readMediaType(answer) === "" ? "without a media type" : readMediaType(answer)}`
  })

/** Reads successful responses by `read`, and the error of failed ones. `now`: epoch milliseconds. */
const readSuccess =
  <A, E>(
    read: (response: HttpExchange) => ChunkSource<A, E>,
    readError: VendorClientOptions["readError"],
    now: () => number
  ) =>
  (answer: HttpExchange): ChunkSource<A, E | VendorRequestRejected | VendorAnswerMalformed> => {
    const { bytes, headers, status } = answer
    if (status >= 200 && status < 300) return read(answer)
    if (status < 400)
      return makeSingleChunkSource<A, VendorAnswerMalformed>(
        [],
        new VendorAnswerMalformed({ reason: `answered ${status}` })
      )
    const toRejection = (body: string) => readError(body, status, headers, now())
    const rejected = readWholeText<A, VendorRequestRejected>(
      bytes,
      (body) => ({ values: [], failure: toRejection(body) }),
      maximumErrorBytes
    )
    return mapChunkFailure(rejected, (failure) =>
      failure._tag === "VendorRequestRejected" ? failure : toRejection("")
    )
  }

/** Does not follow redirects, which could disclose the key and the conversation to another host. */
export const makeVendorClient = (
  http: HttpClient.HttpClient,
  { apiKey, baseUrl, headers = {}, keyHeader, readError }: VendorClientOptions
): VendorClient => {
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
  const execute = Effect.fnUntraced(function* <A>(request: HttpClientRequest.HttpClientRequest, read: ReadResponse<A>) {
    const response = yield* Effect.mapError(client.execute(request), toConnectionFailure)
    const bytes = yield* bytesOf(response)
    const clock = yield* Effect.clock
    const readAnswer = readSuccess(read, readError, () => clock.unsafeCurrentTimeMillis())
    return yield* takeFirst(readAnswer({ status: response.status, headers: response.headers, bytes }))
  }, Effect.scoped)
  const open = <A, E>(path: string, { accept, body, contentType }: VendorPostBody, read: ReadResponse<A, E>) =>
    Effect.clockWith((clock) =>
      Effect.map(
        post({
          url: new URL(address + path),
          headers: { accept, "content-type": contentType, ...keyed() },
          body
        }),
        (response) => ({
          close: response.close,
          ...continueSource(
            response,
            readSuccess(read, readError, () => clock.unsafeCurrentTimeMillis())
          )
        })
      )
    )
  return {
    send: (path, posted, read) => Effect.acquireUseRelease(open(path, posted, read), takeFirst, ({ close }) => close),
    post: (path, body, read) => open(path, { ...makeJsonBody(body), accept: "text/event-stream" }, read),
    read: (request) => execute(request, ({ bytes }) => readWholeText(bytes, (text) => ({ values: [text] }))),
    probe: (request) => Effect.asVoid(execute(request, () => makeSingleChunkSource([true])))
  }
}
