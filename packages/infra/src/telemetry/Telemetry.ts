import * as Otlp from "@effect/opentelemetry/Otlp"
import { SpanExportEnabled } from "@berth/domain/shared/SpanExport"
import { FetchHttpClient } from "@effect/platform"
import { Layer, Logger, type LogLevel, Option } from "effect"
import { jsonLogger } from "./JsonLogger.ts"
import { nonExportingTracer } from "./NonExportingTracer.ts"

export interface TelemetryOptions {
  readonly serviceName: string
  readonly serviceVersion: string
  readonly logLevel: LogLevel.LogLevel
  readonly logFormat: "json" | "pretty"
  /** Base URL of an OpenTelemetry collector (OTLP over HTTP). */
  readonly otlpEndpoint: Option.Option<string>
}

/** Spans without an exporter; the span events of logs are never read. */
export const noExporter = Layer.mergeAll(
  Layer.setTracer(nonExportingTracer),
  Logger.remove(Logger.tracerLogger),
  Layer.succeed(SpanExportEnabled, false)
)

/** Logs to standard output; exports spans, metrics and logs if a collector is configured. */
export const layer = (options: TelemetryOptions) => {
  const logger = Logger.replace(
    Logger.defaultLogger,
    options.logFormat === "json" ? jsonLogger : Logger.prettyLogger({ colors: "auto" })
  )
  const exporter = Option.match(options.otlpEndpoint, {
    onNone: () => noExporter,
    onSome: (baseUrl) =>
      Otlp.layerJson({
        baseUrl,
        resource: { serviceName: options.serviceName, serviceVersion: options.serviceVersion }
      }).pipe(Layer.provide(FetchHttpClient.layer))
  })
  return exporter.pipe(Layer.provideMerge(logger), Layer.provideMerge(Logger.minimumLogLevel(options.logLevel)))
}
