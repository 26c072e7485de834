import { BackendApi } from "@berth/api/BackendApi"
import { actingUserHeader, clientAddressHeader } from "@berth/api/http/ActingUserHeaders"
import type { InternalKeyRequired } from "@berth/api/http/InternalAuth"
import { BackendUnavailable } from "@berth/domain/instances/InstanceErrors"
import { Caller } from "@berth/domain/sessions/Caller"
import {
  FetchHttpClient,
  type HttpApiError,
  HttpApiClient,
  HttpClient,
  HttpClientError,
  HttpClientRequest
} from "@effect/platform"
import { Effect, Option, type ParseResult, type Redacted } from "effect"

export const agentBackendUnreachable = new BackendUnavailable({
  reason: "the agent backend cannot be reached. Try again later."
})

export interface BackendClientOptions {
  readonly backendUrl: string
  readonly internalApiKey: Redacted.Redacted
}

/** Forwards the caller, so that limits and logs of the backend refer to the caller instead of this process. */
export const callerHeaders = Effect.gen(function* () {
  const { address, user } = yield* Caller
  return {
    ...Option.match(address, { onNone: () => ({}), onSome: (known) => ({ [clientAddressHeader]: known }) }),
    ...Option.match(yield* user, { onNone: () => ({}), onSome: (id) => ({ [actingUserHeader]: id }) })
  }
})

/** Clients of the backend API: typed, and plain HTTP for streams. */
export const makeBackendClient = Effect.fnUntraced(function* ({ backendUrl, internalApiKey }: BackendClientOptions) {
  const http = HttpClient.mapRequest(yield* HttpClient.HttpClient, (request) =>
    request.pipe(
      HttpClientRequest.prependUrl(backendUrl.replace(/\/$/, "")),
      HttpClientRequest.bearerToken(internalApiKey)
    )
  ).pipe(
    HttpClient.mapRequestEffect((request) =>
      Effect.map(callerHeaders, (headers) => HttpClientRequest.setHeaders(request, headers))
    )
  )
  return { http, api: yield* HttpApiClient.makeWith(BackendApi, { httpClient: http }) }
}, Effect.provide(FetchHttpClient.layer))

/** The response is missing or violates the contract: the backend is unreachable, or another server responds. */
export type TransportFailure =
  HttpClientError.HttpClientError | ParseResult.ParseError | HttpApiError.HttpApiDecodeError | InternalKeyRequired

const transportTags: ReadonlyArray<string> = [
  "RequestError",
  "ResponseError",
  "ParseError",
  "HttpApiDecodeError",
  "InternalKeyRequired"
] satisfies ReadonlyArray<TransportFailure["_tag"]>

const isTransportFailure = <E extends { readonly _tag: string }>(
  error: E | TransportFailure
): error is TransportFailure => transportTags.includes(error._tag)

/**
 * Replaces a transport failure, whose address and cause are internal and logged, by `failure`. A 500 of the backend is a
 * defect, as in a single process.
 */
export const failTransportWith =
  <F>(failure: F) =>
  <A, E extends { readonly _tag: string }>(call: Effect.Effect<A, E | TransportFailure>): Effect.Effect<A, E | F> =>
    Effect.catchAll(call, (error): Effect.Effect<never, E | F> => {
      if (!isTransportFailure<E>(error)) return Effect.fail(error)
      return error instanceof HttpClientError.ResponseError && error.response.status === 500
        ? Effect.die(error)
        : logAndFail(error.message, failure)
    })

export const logAndFail = <E>(reason: string, failure: E): Effect.Effect<never, E> =>
  Effect.zipRight(
    Effect.logWarning("Backend request failed").pipe(Effect.annotateLogs("reason", reason)),
    Effect.fail(failure)
  )
