import { isKnownMethod } from "@berth/api/http/HttpMethods"
import { runtimeSpansPath } from "@berth/api/runtime/RuntimeContract"
import { logInfoWith } from "@berth/domain/shared/AnnotatedLog"
import type { UserId } from "@berth/domain/shared/UserId"
import type { HttpServerRequest, HttpServerResponse } from "@effect/platform"
import { type Clock, Effect, Metric, MetricBoundaries, MetricKey, MetricLabel, Option } from "effect"
import type { KnownRoute } from "./RouteTable.ts"

const requestsName = "http_requests_total"
const durationName = "http_server_request_duration_seconds"
/** The boundaries of OpenTelemetry's `http.server.request.duration`. */
const boundaries = MetricBoundaries.fromIterable([
  0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10
])

const nanosPerSecond = 1e9

const makeLabels = (labels: Readonly<Record<string, string>>) =>
  Object.entries(labels).map(([key, value]) => MetricLabel.make(key, value))

const makeDuration = (labels: Readonly<Record<string, string>>) =>
  Metric.fromMetricKey(
    MetricKey.taggedWithLabels(
      MetricKey.histogram(durationName, boundaries, "Duration of requests until the end of the response"),
      makeLabels(labels)
    )
  )

/** Labels are part of the keys, since `Metric.tagged` would build the labels and look up the metric at every update. */
const makeRequestMetrics = (method: string, route: string, status: number) => {
  const labels = { method, route, status: String(status) }
  const makeDurations = (scheme: string) => ({
    complete: makeDuration({ ...labels, scheme, ...(status < 500 ? {} : { error: labels.status }) }),
    brokenOff: makeDuration({ ...labels, scheme, error: status < 500 ? "_OTHER" : labels.status })
  })
  return {
    requests: Metric.fromMetricKey(
      MetricKey.taggedWithLabels(
        MetricKey.counter(requestsName, {
          description: "Requests with a response, by method, route and status",
          incremental: true
        }),
        makeLabels(labels)
      )
    ),
    http: makeDurations("http"),
    https: makeDurations("https")
  }
}

type RequestMetrics = ReturnType<typeof makeRequestMetrics>

/** By route, method and status. Nested, since a joined key would be a new string for every request. */
const metricsByRoute = new Map<string, Map<string, Map<number, RequestMetrics>>>()

const addMetrics = (method: string, route: string, status: number): RequestMetrics => {
  const byMethod = metricsByRoute.get(route) ?? new Map<string, Map<number, RequestMetrics>>()
  const byStatus = byMethod.get(method) ?? new Map<number, RequestMetrics>()
  const made = makeRequestMetrics(method, route, status)
  metricsByRoute.set(route, byMethod.set(method, byStatus.set(status, made)))
  return made
}

const metricsOf = (request: HttpServerRequest.HttpServerRequest, route: Option.Option<KnownRoute>, status: number) => {
  const method = isKnownMethod(request.method) ? request.method : "_OTHER"
  const path = Option.isSome(route) ? route.value.path : "none"
  return metricsByRoute.get(path)?.get(method)?.get(status) ?? addMetrics(method, path, status)
}

/** The scheme of the client's request, as in its span. */
const schemeOf = ({ headers }: HttpServerRequest.HttpServerRequest) =>
  headers["x-forwarded-proto"] === "https" ? "https" : "http"

/** Measures one request. Hot path: plain data without effects. */
export class RequestTimer {
  #clock: Clock.Clock | undefined
  #startedAt = 0n
  #route: Option.Option<KnownRoute> = Option.none()

  constructor(private readonly request: HttpServerRequest.HttpServerRequest) {}

  start(clock: Clock.Clock, startedAt: bigint, route: Option.Option<KnownRoute>): void {
    this.#clock = clock
    this.#startedAt = startedAt
    this.#route = route
  }

  /** Returns the seconds since the start. */
  read(): number {
    return this.#clock === undefined
      ? 0
      : Number(this.#clock.unsafeCurrentTimeNanos() - this.#startedAt) / nanosPerSecond
  }

  /** Records the duration of the request after its response was sent, or broken off by a defect. */
  end(status: number, isBrokenOff: boolean): void {
    const { brokenOff, complete } = metricsOf(this.request, this.#route, status)[schemeOf(this.request)]
    const duration = isBrokenOff ? brokenOff : complete
    duration.unsafeUpdate(this.read(), [])
  }
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
  path,
  request,
  response,
  route,
  seconds,
  user
}: {
  readonly request: HttpServerRequest.HttpServerRequest
  readonly path: string
  readonly route: Option.Option<KnownRoute>
  readonly response: HttpServerResponse.HttpServerResponse
  /** Time to the head of the response. */
  readonly seconds: number
  readonly user: Option.Option<UserId>
}): Effect.Effect<void> => {
  metricsOf(request, route, response.status).requests.unsafeUpdate(1, [])
  if (path.startsWith("/health/") || path === "/metrics" || path === runtimeSpansPath) return Effect.void
  return logInfoWith("Request", {
    method: request.method,
    path,
    status: response.status,
    ms: Math.round(seconds * 10_000) / 10,
    ...Option.match(user, { onNone: () => ({}), onSome: (userId) => ({ userId }) })
  })
}
