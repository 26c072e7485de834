import { readNext } from "@berth/domain/ai/streams/ChunkSource"
import type { Headers } from "@effect/platform"
import { Effect, Redacted } from "effect"
import { type HttpExchange, type HttpRequest, sendRequest } from "./HttpExchange.ts"
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
  type VendorConnectionFailed,
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
  /** GETs a path and reads the complete body. */
  readonly read: (path: string) => Effect.Effect<string, VendorFailure>
  /** GETs a path and checks only the status. */
  readonly probe: (path: string) => Effect.Effect<void, VendorFailure>
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

export const makeJsonBody = (body: object): VendorPostBody => ({
  contentType: "application/json",
  accept: "application/json",
  body: JSON.stringify(body)
})

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

/** Redirects are errors, since they could disclose the key and the conversation to another host. */
export const makeVendorClient = ({
  apiKey,
  baseUrl,
  headers = {},
  keyHeader,
  readError
}: VendorClientOptions): VendorClient => {
  const address = baseUrl.replace(/\/+$/, "")
  const keyed = (): Readonly<Record<string, string>> => {
    if (apiKey === null) return headers
    const key = Redacted.value(apiKey)
    return { ...headers, [keyHeader]: keyHeader === "authorization" ? `Bearer ${key}` : key }
  }
  const toGet = (): Omit<HttpRequest, "url"> => ({
    method: "GET",
    headers: { accept: "application/json", ...keyed() },
    body: null
  })
  const toPost = ({ accept, body, contentType }: VendorPostBody): Omit<HttpRequest, "url"> => ({
    method: "POST",
    headers: { accept, "content-type": contentType, ...keyed() },
    body
  })
  const open = <A, E>(path: string, request: Omit<HttpRequest, "url">, read: ReadResponse<A, E>) =>
    Effect.clockWith((clock) =>
      Effect.map(sendRequest({ url: new URL(address + path), ...request }), (response) => ({
        close: response.close,
        ...continueSource(
          response,
          readSuccess(read, readError, () => clock.unsafeCurrentTimeMillis())
        )
      }))
    )
  const take = <A>(path: string, request: Omit<HttpRequest, "url">, read: ReadResponse<A>) =>
    Effect.acquireUseRelease(open(path, request, read), takeFirst, ({ close }) => close)
  return {
    send: (path, posted, read) => take(path, toPost(posted), read),
    post: (path, body, read) => open(path, toPost({ ...makeJsonBody(body), accept: "text/event-stream" }), read),
    read: (path) => take(path, toGet(), ({ bytes }) => readWholeText(bytes, (text) => ({ values: [text] }))),
    probe: (path) => Effect.asVoid(take(path, toGet(), () => makeSingleChunkSource([true])))
  }
}
