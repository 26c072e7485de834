import { nameProvider } from "@berth/domain/ai/calls/ModelTelemetry"
import { parseModelName } from "@berth/domain/ai/models/ModelRoutes"
import type { Attributes } from "@opentelemetry/api"
import { type CollectionResult, DataPointType, type MetricData } from "@opentelemetry/sdk-metrics"

/* Metrics have Prometheus names. In OTLP they have UCUM units, and names of the semantic conventions if defined. */

/** Units by name; the first match wins. Text in braces is a UCUM annotation: the counted items. */
const units: ReadonlyArray<readonly [name: RegExp, unit: string]> = [
  [/_seconds(_total)?$/, "s"],
  [/^effect_fiber_lifetimes$/, "ms"],
  [/_bytes$/, "By"],
  [/_usd_total$/, "{USD}"],
  [/_ratio$|_up$/, "1"],
  [/^http_requests_total$|_waiting_requests$/, "{request}"],
  [/^berth_refusals_total$/, "{response}"],
  [/_streams_open$/, "{stream}"],
  [/_sockets_open$|_connections$/, "{connection}"],
  [/_password_hashes_waiting$/, "{hash}"],
  [/_calls_total$/, "{call}"],
  [/_tokens_total$/, "{token}"],
  [/_units_charged_total$/, "{unit}"],
  [/_payments_total$/, "{payment}"],
  [/^berth_instances_(running|measured)$/, "{instance}"],
  [/_jobs(_total)?$/, "{job}"],
  [/^berth_channel_parts_/, "{message}"],
  [/_audits_total$/, "{audit}"],
  [/_discrepancies$/, "{discrepancy}"],
  [/^effect_fiber_/, "{fiber}"]
]

/** Returns the unit of a metric by its name; none for an unknown one. */
export const findUnit = (name: string): string | undefined => units.find(([pattern]) => pattern.test(name))?.[1]

interface Convention {
  readonly name: string
  readonly toAttributes: (labels: Attributes) => Attributes
}

const toErrorType = (error: Attributes[string]): Attributes => (error === undefined ? {} : { "error.type": error })

/** Histograms with names in the semantic conventions. */
const conventions: ReadonlyMap<string, Convention> = new Map([
  [
    "http_server_request_duration_seconds",
    {
      name: "http.server.request.duration",
      toAttributes: ({ error, method, route, scheme, status, ...rest }) => ({
        ...rest,
        "http.request.method": method,
        "http.response.status_code": Number(status),
        "url.scheme": scheme,
        ...(route === "none" ? {} : { "http.route": route }),
        ...toErrorType(error)
      })
    }
  ],
  [
    "berth_model_call_seconds",
    {
      name: "gen_ai.client.operation.duration",
      toAttributes: ({ error, model, operation, provider, ...rest }) => ({
        ...rest,
        "gen_ai.operation.name": operation,
        "gen_ai.provider.name": nameProvider(String(provider)),
        "gen_ai.request.model": parseModelName(String(model)),
        ...toErrorType(error)
      })
    }
  ]
])

const toConventional = (metric: MetricData): MetricData => {
  const { name } = metric.descriptor
  const descriptor = { ...metric.descriptor, unit: findUnit(name) ?? metric.descriptor.unit }
  const convention = conventions.get(name)
  return convention === undefined || metric.dataPointType !== DataPointType.HISTOGRAM
    ? { ...metric, descriptor }
    : {
        ...metric,
        descriptor: { ...descriptor, name: convention.name },
        dataPoints: metric.dataPoints.map((point) => ({
          ...point,
          attributes: convention.toAttributes(point.attributes)
        }))
      }
}

/** Converts collected metrics to conventional names, attributes and units. Pure. */
export const toConventionalMetrics = ({ errors, resourceMetrics }: CollectionResult): CollectionResult => ({
  errors,
  resourceMetrics: {
    ...resourceMetrics,
    scopeMetrics: resourceMetrics.scopeMetrics.map((scope) => ({
      ...scope,
      metrics: scope.metrics.map(toConventional)
    }))
  }
})
