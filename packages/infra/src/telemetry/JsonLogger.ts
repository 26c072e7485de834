import { Context, FiberRef, FiberRefs, Logger, Option, Tracer } from "effect"

/** A log line as an object, with the ids of the trace it belongs to. */
export const structured = Logger.make<unknown, Readonly<Record<string, unknown>>>((options) => {
  const span = Context.getOption(FiberRefs.getOrDefault(options.context, FiberRef.currentContext), Tracer.ParentSpan)
  const { annotations, cause, logLevel, message, timestamp } = Logger.structuredLogger.log(options)
  return {
    timestamp,
    level: logLevel,
    message,
    ...annotations,
    ...(cause === undefined ? {} : { cause }),
    ...(Option.isSome(span) ? { trace_id: span.value.traceId, span_id: span.value.spanId } : {})
  }
})

/** One line of JSON on standard output. */
export const jsonLogger = Logger.withLeveledConsole(Logger.map(structured, (line) => JSON.stringify(line)))
