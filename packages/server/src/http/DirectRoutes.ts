import type { HttpServerRequest, HttpServerResponse } from "@effect/platform"
import { Effect, Option, type Scope } from "effect"
import type { KnownRoute } from "./RouteTable.ts"

type Response = HttpServerResponse.HttpServerResponse

/** Answers a body, or leaves it to the router: whatever is not the usual case has its words there. */
export type DirectHandler = (
  request: HttpServerRequest.HttpServerRequest,
  json: unknown
) => Effect.Effect<Option.Option<Response>, never, Scope.Scope>

/**
 * Endpoints that are called so often that what the router and the contract do around each of them counts. They give the
 * same answers as there, by "METHOD path" as declared; every rule for all requests holds for them too.
 */
export type DirectRoutes = ReadonlyMap<string, DirectHandler>

export const noDirectRoutes: DirectRoutes = new Map()

/** What answers a request whose body was read: its direct route, if it has one and that can, else the router. */
export const tryDirectRoute = <E, R>(
  routes: DirectRoutes,
  route: Option.Option<KnownRoute>,
  request: HttpServerRequest.HttpServerRequest,
  router: Effect.Effect<Response, E, R>
): Effect.Effect<Response, E, R | Scope.Scope> => {
  if (routes.size === 0 || Option.isNone(route)) return router
  const answer = routes.get(`${route.value.method} ${route.value.path}`)
  if (answer === undefined) return router
  const { path } = route.value
  return Effect.matchCauseEffect(request.json, {
    // A body that is refused: what comes before that, who calls, and the words for it are the router's.
    onFailure: () => router,
    onSuccess: (json) =>
      // Around the handler a request runs uninterruptibly; the handler itself ends when the client leaves.
      Effect.flatMap(Effect.interruptible(answer(request, json)), (given) =>
        // As the router says it of what it answers.
        Option.isSome(given) ? Effect.as(Effect.annotateCurrentSpan("http.route", path), given.value) : router
      )
  })
}
