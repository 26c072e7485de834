import { SpanExportEnabled } from "@berth/domain/shared/SpanExport"
import { Layer, Logger } from "effect"
import { nonExportingTracer } from "./NonExportingTracer.ts"

/** Spans without an exporter; the span events of logs are never read. */
export const noExporter = Layer.mergeAll(
  Layer.setTracer(nonExportingTracer),
  Logger.remove(Logger.tracerLogger),
  Layer.succeed(SpanExportEnabled, false)
)
