import type { HttpServerResponse } from "@effect/platform"
import { Effect, type Option, type Scope } from "effect"

/** A handler with the services that the context of a request has. */
export type RequestHandler = Effect.Effect<HttpServerResponse.HttpServerResponse, unknown, unknown>

/** Hot paths, by "METHOD path" as declared: handlers in place of their contract's, with the same responses. */
export type DirectRoutes = ReadonlyMap<string, (contract: RequestHandler) => RequestHandler>

export const noDirectRoutes: Effect.Effect<DirectRoutes> = Effect.succeed(new Map())

/** Responds to a JSON body; none leaves the request to the contract. */
export type DirectAnswer = (
  json: unknown
) => Option.Option<Effect.Effect<HttpServerResponse.HttpServerResponse, never, Scope.Scope>>
