import { Effect, Layer, Logger, type LogLevel, Option, Record } from "effect"
import type { TelemetrySettings } from "../configuration/TelemetrySettings.ts"
import { jsonLogger } from "./JsonLogger.ts"
import { noExporter } from "./NoExporter.ts"
import type { ExportedResource } from "./OtelExport.ts"
import { prettyLogger } from "./PrettyLogger.ts"

interface TelemetryOptions {
  readonly identity: ExportedResource
  readonly logLevel: LogLevel.LogLevel
  readonly logFormat: "json" | "pretty"
  readonly export: TelemetrySettings
}

/** Logs to standard output; exports the configured signals. */
export const layer = (options: TelemetryOptions) => {
  const logger = Logger.replace(Logger.defaultLogger, options.logFormat === "json" ? jsonLogger : prettyLogger)
  const exporter = Record.some(options.export.signals, Option.isSome)
    ? Layer.unwrapEffect(
        Effect.map(
          Effect.promise(() => import("./OtelExport.ts")),
          (otel) => otel.layer(options.export, options.identity)
        )
      )
    : noExporter
  return exporter.pipe(Layer.provideMerge(logger), Layer.provideMerge(Logger.minimumLogLevel(options.logLevel)))
}
