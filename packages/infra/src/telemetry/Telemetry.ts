import * as Otlp from "@effect/opentelemetry/Otlp"
import { SpanExportEnabled } from "@berth/domain/ai/calls/SpanExport"
import { FetchHttpClient } from "@effect/platform"
import { Layer, Logger, type LogLevel, Option } from "effect"
import { jsonLogger } from "./JsonLogger.ts"
import { nonExportingTracer } from "./NonExportingTracer.ts"

export interface TelemetryOptions {
  readonly serviceName: string
  readonly serviceVersion: string
  readonly logLevel: LogLevel.LogLevel
  readonly logFormat: "json" | "pretty"
  /** Base address of an OpenTelemetry collector's HTTP endpoint. */
  readonly otlpEndpoint: Option.Option<string>
}

/** Logs to standard output; spans, metrics and logs to the collector when there is one. */
export const layer = (options: TelemetryOptions) => {
  const logger = Logger.replace(
    Logger.defaultLogger,
    options.logFormat === "json" ? jsonLogger : Logger.prettyLogger({ colors: "auto" })
  )
  const exporter = Option.match(options.otlpEndpoint, {
    // Logs would be events of spans that nobody reads.
    onNone: () =>
      Layer.mergeAll(
        Layer.setTracer(nonExportingTracer),
        Logger.remove(Logger.tracerLogger),
        Layer.succeed(SpanExportEnabled, false)
      ),
    onSome: (baseUrl) =>
      Otlp.layerJson({
        baseUrl,
        resource: { serviceName: options.serviceName, serviceVersion: options.serviceVersion }
      }).pipe(Layer.provide(FetchHttpClient.layer))
  })
  return exporter.pipe(Layer.provideMerge(logger), Layer.provideMerge(Logger.minimumLogLevel(options.logLevel)))
}
