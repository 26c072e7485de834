import type { HttpServerResponse } from "@effect/platform"
import type { Effect, Option, Scope } from "effect"

/** A handler that runs with the services of a request's context. */
export type RequestHandler = Effect.Effect<HttpServerResponse.HttpServerResponse, unknown, unknown>

/** Hot paths by declared "METHOD path": handlers that replace those of the contract, with equal responses. */
export type DirectRoutes = ReadonlyMap<string, (contract: RequestHandler) => RequestHandler>

/** Responds to a JSON body; none delegates the request to the contract. */
export type DirectAnswer = (
  json: unknown
) => Option.Option<Effect.Effect<HttpServerResponse.HttpServerResponse, never, Scope.Scope>>
