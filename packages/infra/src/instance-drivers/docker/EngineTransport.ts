import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import type * as HttpBody from "@effect/platform/HttpBody"
import * as HttpClient from "@effect/platform/HttpClient"
import * as HttpClientRequest from "@effect/platform/HttpClientRequest"
import type * as HttpClientResponse from "@effect/platform/HttpClientResponse"
import { Chunk, Context, Duration, Effect, Layer, ParseResult, Schema, Stream } from "effect"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import * as UnixSocketClient from "../../runtime/UnixSocketClient.ts"
import { type EngineAddress, formatEngineAddress } from "./EngineAddress.ts"
import {
  type EngineError,
  EngineRequestRejected,
  EngineResponseMalformed,
  EngineUnreachable,
  EngineUnresponsive
} from "./EngineErrors.ts"
import { EngineErrorBody, EngineVersion } from "./EngineModels.ts"

/** Oldest API version with every required member (Docker 20.10). */
const oldestApiVersion = [1, 41] as const

export const callTimeout = Duration.seconds(10)
export const slowCallTimeout = Duration.seconds(30)
const maximumTextBytes = 16 * 1024 * 1024

type Query = Readonly<Record<string, string | number | boolean>>

interface EngineCall {
  readonly method: "GET" | "POST" | "PUT" | "DELETE"
  readonly path: string
  readonly query?: Query
  readonly body?: HttpBody.HttpBody
  readonly within?: Duration.Duration
}

export const getCall = (path: string, query: Query = {}): EngineCall => ({ method: "GET", path, query })
/** Creates or changes an object, which can be slow on a busy disk. */
export const postCall = (path: string, options: Omit<EngineCall, "method" | "path"> = {}): EngineCall => ({
  method: "POST",
  path,
  within: slowCallTimeout,
  ...options
})
export const removeCall = (path: string, query: Query = {}): EngineCall => ({
  method: "DELETE",
  path,
  query,
  within: slowCallTimeout
})

/** Reads the same client certificate as the `docker` command. */
const readCertificates = (directory: string, address: string) =>
  Effect.try({
    try: () => ({
      ca: readFileSync(join(directory, "ca.pem")),
      cert: readFileSync(join(directory, "cert.pem")),
      key: readFileSync(join(directory, "key.pem"))
    }),
    catch: (cause) => new EngineUnreachable({ address, reason: `DOCKER_CERT_PATH: ${String(cause)}` })
  })

/** Returns the HTTP client and the origin of an engine: a Unix socket, or TCP with optional client certificates. */
const connectTo = Effect.fnUntraced(function* (address: EngineAddress) {
  if (address._tag === "Socket")
    return { client: UnixSocketClient.layer, origin: UnixSocketClient.makeSocketEndpoint(address.path) }
  const { certificates, origin } = address
  const options = certificates === null ? {} : yield* readCertificates(certificates, origin)
  return {
    client: Layer.provide(NodeHttpClient.layerWithoutAgent, NodeHttpClient.makeAgentLayer(options)),
    origin
  }
})

const causeOf = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error)
  if ("code" in error && typeof error.code === "string") return error.code
  return error.cause === undefined ? error.message : causeOf(error.cause)
}

const describeFirstIssue = (error: ParseResult.ParseError): string => {
  const [issue] = ParseResult.ArrayFormatter.formatErrorSync(error)
  return issue === undefined
    ? "unknown"
    : [issue.path.join("."), issue.message].filter((part) => part !== "").join(": ")
}

/** Calls of an engine. Every call has a timeout, except those that stream. */
export const makeEngineTransport = Effect.fnUntraced(function* (address: EngineAddress) {
  const shownAddress = formatEngineAddress(address)
  // Trace headers stay inside of the platform.
  const { client, origin } = yield* connectTo(address)
  const http = Context.get(yield* Layer.build(client), HttpClient.HttpClient).pipe(
    HttpClient.withTracerPropagation(false)
  )

  const open = (
    prefix: string,
    call: EngineCall
  ): Effect.Effect<HttpClientResponse.HttpClientResponse, EngineError> => {
    const operation = `${call.method} ${call.path}`
    return HttpClientRequest.make(call.method)(`${origin}${prefix}${call.path}`).pipe(
      HttpClientRequest.setUrlParams(call.query ?? {}),
      call.body === undefined ? (request) => request : HttpClientRequest.setBody(call.body),
      http.execute,
      Effect.mapError((error) => new EngineUnreachable({ address: shownAddress, reason: causeOf(error) })),
      Effect.filterOrElse(
        // 304: the container is already in that state.
        ({ status }) => status < 300 || status === 304,
        (response) =>
          Effect.flatMap(
            response.json.pipe(
              Effect.flatMap(Schema.decodeUnknown(EngineErrorBody)),
              Effect.match({ onSuccess: ({ message }) => message, onFailure: () => "no reason given" })
            ),
            (reason) => new EngineRequestRejected({ operation, status: response.status, reason })
          )
      )
    )
  }

  /** Sends a call and reads the complete response. The timeout applies in uninterruptible regions too. */
  const send = <A>(
    prefix: string,
    call: EngineCall,
    read: (response: HttpClientResponse.HttpClientResponse) => Effect.Effect<A, EngineError>
  ): Effect.Effect<A, EngineError> => {
    const within = call.within ?? callTimeout
    return Effect.interruptible(Effect.flatMap(open(prefix, call), read)).pipe(
      Effect.timeoutFail({
        duration: within,
        onTimeout: () =>
          new EngineUnresponsive({ address: shownAddress, operation: `${call.method} ${call.path}`, within })
      }),
      Effect.withTracerEnabled(false)
    )
  }

  const readJson =
    <A, I>(call: EngineCall, schema: Schema.Schema<A, I>) =>
    (response: HttpClientResponse.HttpClientResponse): Effect.Effect<A, EngineError> =>
      response.text.pipe(
        Effect.mapError((error) => new EngineUnreachable({ address: shownAddress, reason: causeOf(error) })),
        Effect.flatMap((text) =>
          Effect.mapError(
            Schema.decode(Schema.parseJson(schema))(text),
            (error) =>
              new EngineResponseMalformed({
                operation: `${call.method} ${call.path}`,
                reason: describeFirstIssue(error)
              })
          )
        )
      )

  const readChunks = ({ stream }: HttpClientResponse.HttpClientResponse): Stream.Stream<Uint8Array, EngineError> =>
    Stream.mapError(stream, (error) => new EngineUnreachable({ address: shownAddress, reason: causeOf(error) }))

  const readBytes = (response: HttpClientResponse.HttpClientResponse): Effect.Effect<Uint8Array, EngineError> =>
    readChunks(response).pipe(
      Stream.mapAccum(0, (length, part) => [length + part.length, { length: length + part.length, part }]),
      Stream.takeWhile(({ length }) => length <= maximumTextBytes),
      Stream.map(({ part }) => part),
      Stream.runCollect,
      Effect.map((parts) => Buffer.concat(Chunk.toReadonlyArray(parts)))
    )

  const unversioned = getCall("/version")
  const version = yield* send("", unversioned, readJson(unversioned, EngineVersion))
  const [major = 0, minor = 0] = version.ApiVersion.split(".").map(Number)
  if (major !== oldestApiVersion[0] || minor < oldestApiVersion[1])
    return yield* new EngineResponseMalformed({
      operation: "GET /version",
      reason: `its API version is ${version.ApiVersion}; update Docker to 20.10 or later`
    })
  const prefix = `/v${oldestApiVersion.join(".")}`

  return {
    json: <A, I>(schema: Schema.Schema<A, I>, call: EngineCall) => send(prefix, call, readJson(call, schema)),
    done: (call: EngineCall) => send(prefix, call, () => Effect.void),
    bytes: (call: EngineCall) => send(prefix, call, readBytes),
    /** Opens a stream that ends with the connection. */
    openStream: (call: EngineCall) => Effect.map(open(prefix, call), readChunks)
  }
})
