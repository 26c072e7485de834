import type { HttpServerRequest, HttpServerResponse } from "@effect/platform"
import { Effect, Metric, MetricBoundaries, MetricKey, MetricLabel, Option } from "effect"
import { logInfoWith } from "@berth/domain/shared/AnnotatedLog"
import { runtimeSpansPath } from "@berth/api/runtime/RuntimeContract"
import type { KnownRoute } from "./RouteTable.ts"
import type { UserId } from "@berth/domain/shared/UserId"

const requestsName = "http_requests_total"
const durationName = "http_server_request_duration_seconds"
const boundaries = MetricBoundaries.fromIterable([
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30
])

const nanosPerSecond = 1e9

type Labels = Readonly<Record<"method" | "route" | "status", string>>

/** Labels are part of the keys, since `Metric.tagged` would build the labels and look up the metric at every update. */
const makeRequestMetrics = (labels: Labels) => {
  const tags = Object.entries(labels).map(([key, value]) => MetricLabel.make(key, value))
  return {
    requests: Metric.fromMetricKey(
      MetricKey.taggedWithLabels(
        MetricKey.counter(requestsName, {
          description: "Requests with a response, by method, route and status",
          incremental: true
        }),
        tags
      )
    ),
    duration: Metric.fromMetricKey(
      MetricKey.taggedWithLabels(MetricKey.histogram(durationName, boundaries, "Time to the head of a response"), [
        MetricLabel.make("method", labels.method),
        MetricLabel.make("route", labels.route),
        MetricLabel.make("status", `${labels.status.charAt(0)}xx`)
      ])
    )
  }
}

/** Bounded by the routes, the methods of Node, and the statuses. */
const metricsByLabels = new Map<string, ReturnType<typeof makeRequestMetrics>>()

const metricsOf = (labels: Labels) => {
  const key = `${labels.method} ${labels.route} ${labels.status}`
  const found = metricsByLabels.get(key)
  if (found !== undefined) return found
  const made = makeRequestMetrics(labels)
  metricsByLabels.set(key, made)
  return made
}

const refusalsName = "berth_refusals_total"
/** Exceeds the contract's codes, since bodies of other servers are forwarded. */
const maximumCodes = 256
const otherCode = "other"
const codePattern = /^[a-z][a-z\d_]{0,63}$/

const refusalsByCode = new Map<string, Metric.Metric.Counter<number>>()

const refusalsOf = (code: string) => {
  const found = refusalsByCode.get(code)
  if (found !== undefined) return found
  if (refusalsByCode.size >= maximumCodes && code !== otherCode) return refusalsOf(otherCode)
  const made = Metric.fromMetricKey(
    MetricKey.taggedWithLabels(
      MetricKey.counter(refusalsName, { description: "Responses with an error body, by its code", incremental: true }),
      [MetricLabel.make("code", code)]
    )
  )
  refusalsByCode.set(code, made)
  return made
}

/** Counts a response with an error body. */
export const countRefusal = (code: unknown): void =>
  refusalsOf(typeof code === "string" && codePattern.test(code) ? code : otherCode).unsafeUpdate(1, [])

/**
 * Counts and logs a request; health checks and telemetry are only counted. Logged paths omit the query, which may
 * contain a secret.
 */
export const recordRequest = ({
  nanos,
  path,
  request,
  response,
  route,
  user
}: {
  readonly request: HttpServerRequest.HttpServerRequest
  readonly path: string
  readonly route: Option.Option<KnownRoute>
  readonly response: HttpServerResponse.HttpServerResponse
  /** Time from the request to its response. */
  readonly nanos: bigint
  readonly user: Option.Option<UserId>
}): Effect.Effect<void> => {
  const seconds = Number(nanos) / nanosPerSecond
  const metrics = metricsOf({
    method: request.method,
    route: Option.match(route, { onNone: () => "none", onSome: (it) => it.path }),
    status: String(response.status)
  })
  metrics.requests.unsafeUpdate(1, [])
  metrics.duration.unsafeUpdate(seconds, [])
  if (path.startsWith("/health/") || path === "/metrics" || path === runtimeSpansPath) return Effect.void
  return logInfoWith("Request", {
    method: request.method,
    path,
    status: response.status,
    ms: Math.round(seconds * 10_000) / 10,
    ...Option.match(user, { onNone: () => ({}), onSome: (userId) => ({ userId }) })
  })
}
