import { Headers, HttpClient, type HttpClientError, HttpClientRequest, type HttpClientResponse } from "@effect/platform"
import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import { Chunk, Clock, Effect, Redacted, type Scope, Stream } from "effect"
import { AnswerIsNonsense, type VendorRefused, WireIsBroken, type WireFailure } from "./WireFailure.ts"

/** A vendor's server. */
export interface VendorClient {
  /** The response to a request, if it succeeded; what is left of it goes with the scope. */
  readonly send: (
    request: HttpClientRequest.HttpClientRequest
  ) => Effect.Effect<HttpClientResponse.HttpClientResponse, WireFailure, Scope.Scope>
  /** The whole body of a response. */
  readonly read: (request: HttpClientRequest.HttpClientRequest) => Effect.Effect<string, WireFailure>
  /** A request for its status alone. */
  readonly ask: (request: HttpClientRequest.HttpClientRequest) => Effect.Effect<void, WireFailure>
}

export interface VendorClientOptions {
  /** With the version. */
  readonly baseUrl: string
  /** The header that the key goes in, as a bearer's where it is `authorization`. */
  readonly keyHeader: "authorization" | "x-api-key" | "x-goog-api-key"
  /** Null where only what is public is asked for. */
  readonly apiKey: Redacted.Redacted | null
  /** What every request has beside. */
  readonly headers?: Readonly<Record<string, string>>
  /** The refusal in the body of an answer whose status, of at least 400, says that it failed; `now` in epoch milliseconds. */
  readonly readRefusal: (body: string, status: number, headers: Headers.Headers, now: number) => VendorRefused
}

const largestAnswer = 16 * 1024 * 1024
const largestRefusal = 64 * 1024

/** The system's code in an error's causes (ECONNREFUSED), which unlike its message never holds an address or a key. */
const codeOf = (error: unknown, depth = 0): string | null => {
  if (typeof error !== "object" || error === null || depth > 4) return null
  if ("code" in error && typeof error.code === "string" && /^[A-Z_]+$/.test(error.code)) return error.code
  return "cause" in error ? codeOf(error.cause, depth + 1) : null
}

const broken = (error: HttpClientError.HttpClientError) =>
  new WireIsBroken({
    reason: codeOf(error.cause) ?? (error._tag === "RequestError" ? "no connection" : "the connection broke off")
  })

/** The bytes of a response as they come. */
export const bytesOf = (response: HttpClientResponse.HttpClientResponse): Stream.Stream<Uint8Array, WireIsBroken> =>
  Stream.mapError(response.stream, broken)

/** The text of a response; one without an end is none. */
export const textOf = (
  response: HttpClientResponse.HttpClientResponse,
  limit = largestAnswer
): Effect.Effect<string, WireIsBroken | AnswerIsNonsense> =>
  bytesOf(response).pipe(
    Stream.mapAccumEffect(0, (size, bytes) =>
      size + bytes.length > limit
        ? Effect.fail(new AnswerIsNonsense({ reason: "an answer without an end" }))
        : Effect.succeed([size + bytes.length, bytes] as const)
    ),
    Stream.decodeText(),
    Stream.runCollect,
    Effect.map(Chunk.join(""))
  )

/** The media type of a response, empty where it has none. */
export const typeOf = (response: HttpClientResponse.HttpClientResponse): string =>
  (response.headers["content-type"] ?? "").replace(/;.*$/s, "").trim().toLowerCase()

/** A response of a type that this wire does not speak. */
export const unexpectedType = (response: HttpClientResponse.HttpClientResponse): AnswerIsNonsense =>
  new AnswerIsNonsense({ reason: `answered ${typeOf(response) === "" ? "without a type" : typeOf(response)}` })

/** Passes a response that succeeded on; a refusal's body is read for its reason, as far as it goes. */
const succeeded =
  (readRefusal: VendorClientOptions["readRefusal"]) =>
  (
    response: HttpClientResponse.HttpClientResponse
  ): Effect.Effect<HttpClientResponse.HttpClientResponse, VendorRefused | AnswerIsNonsense> => {
    if (response.status >= 200 && response.status < 300) return Effect.succeed(response)
    if (response.status < 400) return Effect.fail(new AnswerIsNonsense({ reason: `answered ${response.status}` }))
    return Effect.gen(function* () {
      const body = yield* Effect.orElseSucceed(textOf(response, largestRefusal), () => "")
      const now = yield* Clock.currentTimeMillis
      return yield* readRefusal(body, response.status, response.headers, now)
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
  readRefusal
}: VendorClientOptions): Effect.Effect<VendorClient, never, HttpClient.HttpClient> =>
  Effect.map(HttpClient.HttpClient, (http) => {
    const withKey = (request: HttpClientRequest.HttpClientRequest) => {
      if (apiKey === null) return request
      return keyHeader === "authorization"
        ? HttpClientRequest.bearerToken(request, apiKey)
        : HttpClientRequest.setHeader(request, keyHeader, Redacted.value(apiKey))
    }
    const client = http.pipe(
      HttpClient.withTracerPropagation(false),
      HttpClient.mapRequest((request) =>
        request.pipe(
          HttpClientRequest.prependUrl(baseUrl.replace(/\/+$/, "")),
          HttpClientRequest.setHeaders(headers),
          withKey
        )
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
    const send = (request: HttpClientRequest.HttpClientRequest) =>
      client.execute(request).pipe(Effect.mapError(broken), Effect.flatMap(succeeded(readRefusal)))
    return {
      send,
      read: (request) => send(request).pipe(Effect.flatMap(textOf), Effect.scoped),
      ask: (request) => send(request).pipe(Effect.scoped, Effect.asVoid)
    }
  })
