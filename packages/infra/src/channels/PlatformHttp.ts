import {
  FetchHttpClient,
  type Headers,
  HttpClient,
  type HttpClientRequest,
  type HttpClientResponse
} from "@effect/platform"
import { Chunk, Data, type Duration, Effect, type Option, Schema, Stream } from "effect"
import { findSystemErrorCode } from "../ai/vendor/HttpExchange.ts"
import { isLoopback } from "../net/ListenHosts.ts"

/** A messaging platform gave no usable response. `reason` quotes neither the request nor the response. */
export class PlatformConnectionFailed extends Data.TaggedError("PlatformConnectionFailed")<{
  readonly reason: string
  readonly isTooLarge: boolean
  /** False if no connection was established. */
  readonly mayHaveArrived: boolean
}> {}

/** The response of a messaging platform violates its documentation. */
export class PlatformAnswerMalformed extends Data.TaggedError("PlatformAnswerMalformed")<{
  readonly operation: string
}> {}

export interface PlatformAnswer {
  readonly status: number
  readonly headers: Headers.Headers
  readonly bytes: Uint8Array
}

export interface PlatformCallLimits {
  /** Timeout of one exchange, including the body. */
  readonly timeout: Duration.DurationInput
  readonly maximumBytes: number
}

const jsonLimits: PlatformCallLimits = { timeout: "10 seconds", maximumBytes: 1024 * 1024 }

const lost = (reason: string, { isTooLarge = false, mayHaveArrived = true } = {}) =>
  new PlatformConnectionFailed({ reason, isTooLarge, mayHaveArrived })

const connectCodes = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH"])
const toConnectionFailed = (error: unknown) => {
  const code = findSystemErrorCode(error)
  return lost(code ?? "no connection", { mayHaveArrived: code === null || !connectCodes.has(code) })
}

const tooLarge = lost("answer too large", { isTooLarge: true })

const readBytes = (response: HttpClientResponse.HttpClientResponse, maximumBytes: number) =>
  Number(response.headers["content-length"] ?? 0) > maximumBytes ? tooLarge : readStream(response, maximumBytes)

const readStream = (response: HttpClientResponse.HttpClientResponse, maximumBytes: number) =>
  response.stream.pipe(
    // A 204 has no body.
    Stream.catchAll((error) =>
      error._tag === "ResponseError" && error.reason === "EmptyBody"
        ? Stream.empty
        : Stream.fail(toConnectionFailed(error))
    ),
    Stream.mapAccumEffect(0, (size, part) =>
      size + part.length > maximumBytes ? tooLarge : Effect.succeed([size + part.length, part] as const)
    ),
    Stream.runCollect,
    Effect.map((parts) => Buffer.concat(Chunk.toReadonlyArray(parts)))
  )

/**
 * HTTP client for messaging platforms: limited in time and size, without redirects, trace headers and spans, since URLs
 * can contain tokens.
 */
export const makePlatformHttp = Effect.map(HttpClient.HttpClient, (http) => {
  const client = HttpClient.withTracerPropagation(http, false)
  return (
    request: HttpClientRequest.HttpClientRequest,
    { maximumBytes, timeout }: PlatformCallLimits = jsonLimits
  ): Effect.Effect<PlatformAnswer, PlatformConnectionFailed> =>
    client.execute(request).pipe(
      Effect.provideService(FetchHttpClient.RequestInit, { redirect: "error" }),
      Effect.mapError(toConnectionFailed),
      Effect.flatMap((response) =>
        Effect.map(readBytes(response, maximumBytes), (bytes) => ({
          status: response.status,
          headers: response.headers,
          bytes
        }))
      ),
      Effect.scoped,
      Effect.interruptible,
      Effect.disconnect,
      Effect.timeoutFail({ duration: timeout, onTimeout: () => lost("timeout") }),
      Effect.withTracerEnabled(false)
    )
})

/** Decodes the body as JSON; none if it does not match the schema. */
export const parseAnswer = <A, I>(schema: Schema.Schema<A, I>, { bytes }: PlatformAnswer): Option.Option<A> =>
  Schema.decodeUnknownOption(Schema.parseJson(schema))(Buffer.from(bytes).toString("utf8"))

/** Whether a token may be sent to an address: over TLS, or to this machine. */
export const isSecureAddress = ({ hostname, protocol }: URL): boolean =>
  protocol === "https:" || protocol === "wss:" || isLoopback(hostname)
