import type { HttpServerRequest, HttpServerResponse } from "@effect/platform"
import type { UserId } from "@berth/domain/accounts/User"
import { Clock, Effect, Metric, MetricBoundaries, Option } from "effect"
import type { KnownRoute } from "./RouteTable.ts"

const requests = Metric.counter("http_requests_total", { description: "Requests answered", incremental: true })
const duration = Metric.histogram(
  "http_request_duration_seconds",
  MetricBoundaries.fromIterable([0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]),
  "Time to the answer's head"
)

const nanosPerSecond = 1e9

/** Counts an answered request and logs it; health checks are counted only. Paths without their query, since a query may hold a secret. */
export const recordRequest = Effect.fnUntraced(function* (answered: {
  readonly request: HttpServerRequest.HttpServerRequest
  readonly path: string
  readonly route: Option.Option<KnownRoute>
  readonly response: HttpServerResponse.HttpServerResponse
  readonly startedAt: bigint
  readonly requestId: string
  readonly user: Option.Option<UserId>
}) {
  const { user, path, request, requestId, response, route, startedAt } = answered
  const seconds = Number((yield* Clock.currentTimeNanos) - startedAt) / nanosPerSecond
  const tags = {
    method: request.method,
    route: Option.match(route, { onNone: () => "none", onSome: (known) => known.path }),
    status: String(response.status)
  }
  const tagged = <Type, In, Out>(metric: Metric.Metric<Type, In, Out>) =>
    Object.entries(tags).reduce((labelled, [key, value]) => Metric.tagged(labelled, key, value), metric)
  yield* Metric.increment(tagged(requests))
  yield* Metric.update(tagged(duration), seconds)
  if (path.startsWith("/health/") || path === "/metrics") return
  yield* Effect.logInfo("Request").pipe(
    Effect.annotateLogs({
      method: request.method,
      path,
      status: response.status,
      ms: Math.round(seconds * 10_000) / 10,
      requestId,
      ...Option.match(user, { onNone: () => ({}), onSome: (userId) => ({ userId }) })
    })
  )
})
