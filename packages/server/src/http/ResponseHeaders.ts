import { makeRetryAfterHeader } from "@berth/api/limits/RateLimits"
import { Cookies, HttpApp, type HttpServerRequest, HttpServerResponse } from "@effect/platform"
import { type Duration, Effect, Option } from "effect"
import type { SecretCookie } from "./SecretCookies.ts"

/** Sets headers on the response of the current request, error responses included. */
export const addResponseHeaders = (headers: Readonly<Record<string, string>>) =>
  HttpApp.appendPreResponseHandler((_request, response) =>
    Effect.succeed(HttpServerResponse.setHeaders(response, headers))
  )

/** Sets `Retry-After` if the error has a time. */
export const addRetryAfter = ({ retryAfter }: { readonly retryAfter?: Duration.Duration | undefined }) =>
  addResponseHeaders(makeRetryAfterHeader(retryAfter))

/** Disables caching of a response that depends on the caller or contains a secret. */
export const privately = { "cache-control": "no-store" } as const

/** Challenge of RFC 6750, section 3. */
export const bearerChallenge = `Bearer realm="berth"`

/** 302 to a location that depends on the caller. */
export const redirectPrivately = (location: string, headers: Readonly<Record<string, string>> = {}) =>
  HttpServerResponse.redirect(location, { status: 302, headers: { ...privately, ...headers } })

/**
 * Adds `no-store` to responses that set a cookie or depend on a session, token or key, and a challenge to every 401
 * (RFC 9110, 15.5.2).
 */
export const makeCredentialHeaders = (
  request: HttpServerRequest.HttpServerRequest,
  response: HttpServerResponse.HttpServerResponse,
  session: SecretCookie,
  isOfInstance: boolean
): Readonly<Record<string, string>> => {
  const dependsOnCredential =
    isOfInstance ||
    request.headers["authorization"] !== undefined ||
    Option.isSome(session.read(request)) ||
    !Cookies.isEmpty(response.cookies)
  return {
    // The payment draft requires `private` for responses with a payment receipt.
    ...(dependsOnCredential && !/^(public|private)/.test(response.headers["cache-control"] ?? "") ? privately : {}),
    ...(response.status === 401 && response.headers["www-authenticate"] === undefined
      ? { "www-authenticate": bearerChallenge }
      : {})
  }
}
