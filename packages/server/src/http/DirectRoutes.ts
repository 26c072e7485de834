import type { HttpServerRequest, HttpServerResponse } from "@effect/platform"
import { Effect, Option, type Scope } from "effect"
import type { KnownRoute } from "./RouteTable.ts"

type Response = HttpServerResponse.HttpServerResponse

/** Responds to a body; none leaves the request to the router. */
export type DirectHandler = (
  request: HttpServerRequest.HttpServerRequest,
  json: unknown
) => Effect.Effect<Option.Option<Response>, never, Scope.Scope>

export interface DirectRoute {
  /** Whether the headers allow the call; otherwise the router responds, and the body is not read. */
  readonly isAllowed: (request: HttpServerRequest.HttpServerRequest) => boolean
  readonly handle: DirectHandler
}

/** Hot paths that bypass the router and the contract, by "METHOD path" as declared. Their responses are the same. */
export type DirectRoutes = ReadonlyMap<string, DirectRoute>

export const noDirectRoutes: DirectRoutes = new Map()

/** Responds by the direct route of a request if it has one that responds, else by the router. */
export const tryDirectRoute = <E, R>(
  routes: DirectRoutes,
  route: Option.Option<KnownRoute>,
  request: HttpServerRequest.HttpServerRequest,
  router: Effect.Effect<Response, E, R>
): Effect.Effect<Response, E, R | Scope.Scope> => {
  if (routes.size === 0 || Option.isNone(route)) return router
  const direct = routes.get(`${route.value.method} ${route.value.path}`)
  if (direct === undefined || !direct.isAllowed(request)) return router
  const { path } = route.value
  return Effect.matchCauseEffect(request.json, {
    // The router responds to a rejected body.
    onFailure: () => router,
    onSuccess: (json) =>
      // The pipeline is uninterruptible; the handler ends when the client disconnects.
      Effect.flatMap(Effect.interruptible(direct.handle(request, json)), (given) =>
        // As the router annotates its own routes.
        Option.isSome(given) ? Effect.as(Effect.annotateCurrentSpan("http.route", path), given.value) : router
      )
  })
}
