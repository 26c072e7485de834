import { toRetryAfterSeconds } from "@berth/api/limits/RateLimits"
import type { RateLimitExceeded } from "@berth/domain/limits/RateLimiter"
import { HttpApp, HttpServerResponse } from "@effect/platform"
import { Effect } from "effect"

/** Sets headers on the response of the current request, error responses included. */
export const addResponseHeaders = (headers: Readonly<Record<string, string>>) =>
  HttpApp.appendPreResponseHandler((_request, response) =>
    Effect.succeed(HttpServerResponse.setHeaders(response, headers))
  )

export const addRetryAfter = ({ retryAfter }: Pick<RateLimitExceeded, "retryAfter">) =>
  addResponseHeaders({ "retry-after": String(toRetryAfterSeconds(retryAfter)) })

/** Keeps a response that depends on the caller, or carries a secret, out of every cache. */
export const privately = { "cache-control": "no-store" } as const

/** 302 to a location that depends on the caller. */
export const redirectPrivately = (location: string, headers: Readonly<Record<string, string>> = {}) =>
  HttpServerResponse.redirect(location, { status: 302, headers: { ...privately, ...headers } })
