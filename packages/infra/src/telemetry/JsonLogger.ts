import { Context, FiberRef, FiberRefs, Logger, LogLevel, Option, Tracer } from "effect"
import { makeLineWriter } from "./LineWriter.ts"

/** A log line as an object, with the ids of the trace it belongs to. */
export const structuredLogger = Logger.make<unknown, Readonly<Record<string, unknown>>>((options) => {
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

const stdout = makeLineWriter(process.stdout)
// Whoever ends the process, what it said last is said.
process.once("exit", stdout.flush)

const toConsole = Logger.withLeveledConsole(Logger.map(structuredLogger, (line) => JSON.stringify(line)))

/**
 * A line of JSON for each: on standard output, those of one turn of the event loop together; warnings and worse at once on
 * standard error, after what was said before them.
 */
export const jsonLogger = Logger.make<unknown, void>((options) => {
  if (options.logLevel === LogLevel.Info || options.logLevel === LogLevel.Debug) {
    stdout.add(JSON.stringify(structuredLogger.log(options)))
    return
  }
  stdout.flush()
  toConsole.log(options)
})
