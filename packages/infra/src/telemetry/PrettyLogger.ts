import { structuredLogger } from "@berth/domain/shared/LogLine"
import { Cause, HashMap, Logger, Struct } from "effect"

const pretty = Logger.prettyLogger({ colors: "auto" })

/** Colored lines for a terminal, with the fields of a structured line: without secrets, and with the trace. */
export const prettyLogger = Logger.make<unknown, void>((entry) => {
  const { context, date, fiberId, logLevel, spans } = entry
  const line = structuredLogger.log(entry)
  const fields = Struct.omit(line, "level", "message", "span_id", "timestamp")
  pretty.log({
    context,
    date,
    fiberId,
    logLevel,
    spans,
    message: line.message,
    cause: Cause.empty,
    annotations: HashMap.fromIterable(Object.entries(fields))
  })
})
