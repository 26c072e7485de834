import { Config, ConfigError, Either, Option, Record, Schema } from "effect"
import { isWebUrl, readParsed } from "./SettingReaders.ts"

/*
 * Standard OTEL_* settings that the SDK does not read itself. It reads headers, timeouts, compression, batches, limits,
 * and the sampler from the environment.
 */

export type OtlpSignal = "traces" | "metrics" | "logs"
export type OtlpProtocol = "http/json" | "http/protobuf"

export interface SignalExport {
  readonly protocol: OtlpProtocol
  /** The collector's address as configured. */
  readonly url: string
}

export interface TelemetrySettings {
  readonly signals: { readonly [signal in OtlpSignal]: Option.Option<SignalExport> }
  readonly metricIntervalMillis: number
  readonly resourceAttributes: Readonly<Record<string, string>>
  readonly serviceName: Option.Option<string>
}

const standardEndpoint = "http://localhost:4318"
const standardMetricInterval = 60_000

const webUrl = (name: string) =>
  Config.option(
    Config.string(name).pipe(
      Config.validate({
        message: "must be an http or https URL, for example http://127.0.0.1:4318",
        validation: isWebUrl
      })
    )
  )

const parseProtocol = Schema.decodeUnknownOption(Schema.Literal("http/json", "http/protobuf"))
const protocol = (name: string): Config.Config<Option.Option<OtlpProtocol>> =>
  Config.option(readParsed(name, parseProtocol, "must be http/json or http/protobuf; grpc is not supported"))

const parseExporter = Schema.decodeUnknownOption(Schema.Literal("otlp", "none"))
const exporter = (name: string) => Config.option(readParsed(name, parseExporter, "must be otlp or none"))

/** Parses `key=value` pairs, comma-separated and percent-encoded. */
const parseResourceAttributes = (text: string): Either.Either<Record<string, string>, string> => {
  const pairs = text
    .split(",")
    .filter((pair) => pair.trim() !== "")
    .map((pair) => [pair.slice(0, pair.indexOf("=")).trim(), pair.slice(pair.indexOf("=") + 1).trim()] as const)
  return Either.flatMap(
    Either.try({
      try: () => pairs.map(([key, value]) => [decodeURIComponent(key), decodeURIComponent(value)] as const),
      catch: () => "must be percent-encoded"
    }),
    (decoded) =>
      decoded.some(([key]) => key === "") || !text.split(",").every((pair) => pair.trim() === "" || pair.includes("="))
        ? Either.left("must be key=value pairs, comma-separated")
        : Either.right(Object.fromEntries(decoded))
  )
}

const signal = (name: "TRACES" | "METRICS" | "LOGS") =>
  Config.all({
    exporter: exporter(`OTEL_${name}_EXPORTER`),
    endpoint: webUrl(`OTEL_EXPORTER_OTLP_${name}_ENDPOINT`),
    protocol: protocol(`OTEL_EXPORTER_OTLP_${name}_PROTOCOL`)
  })

type SignalSettings = Config.Config.Success<ReturnType<typeof signal>>

export const telemetrySettings: Config.Config<TelemetrySettings> = Config.all({
  isDisabled: Config.map(
    Config.option(Config.string("OTEL_SDK_DISABLED")),
    Option.exists((value) => value.toLowerCase() === "true")
  ),
  endpoint: webUrl("OTEL_EXPORTER_OTLP_ENDPOINT"),
  protocol: protocol("OTEL_EXPORTER_OTLP_PROTOCOL"),
  traces: signal("TRACES"),
  metrics: signal("METRICS"),
  logs: signal("LOGS"),
  metricIntervalMillis: Config.integer("OTEL_METRIC_EXPORT_INTERVAL").pipe(
    Config.validate({
      message: "must be a number of milliseconds of at least 100",
      validation: (value) => value >= 100
    }),
    Config.withDefault(standardMetricInterval)
  ),
  resourceAttributes: Config.string("OTEL_RESOURCE_ATTRIBUTES").pipe(
    Config.mapOrFail((text) =>
      Either.mapLeft(parseResourceAttributes(text), (reason) => ConfigError.InvalidData([], reason))
    ),
    Config.withDefault({})
  ),
  serviceName: Config.option(Config.string("OTEL_SERVICE_NAME"))
}).pipe(
  Config.map(({ endpoint, isDisabled, logs, metrics, protocol, traces, ...rest }) => {
    const exportOf = (path: string, own: SignalSettings): Option.Option<SignalExport> => {
      const isWanted = Option.match(own.exporter, {
        onNone: () => Option.isSome(endpoint) || Option.isSome(own.endpoint),
        onSome: (chosen) => chosen === "otlp"
      })
      if (isDisabled || !isWanted) return Option.none()
      const base = Option.getOrElse(endpoint, () => standardEndpoint).replace(/\/+$/, "")
      return Option.some({
        protocol: Option.getOrElse(
          Option.orElse(own.protocol, () => protocol),
          (): OtlpProtocol => "http/json"
        ),
        url: Option.getOrElse(own.endpoint, () => `${base}/${path}`)
      })
    }
    const signals = {
      traces: exportOf("v1/traces", traces),
      metrics: exportOf("v1/metrics", metrics),
      logs: exportOf("v1/logs", logs)
    }
    return {
      ...rest,
      serviceName: Option.orElse(rest.serviceName, () => Record.get(rest.resourceAttributes, "service.name")),
      signals
    }
  })
)
