import { Context, FiberRef, FiberRefs, Logger, LogLevel, Option, Tracer } from "effect"
import { makeLineWriter } from "./LineWriter.ts"

/** Formats a log entry as an object with its trace ids. */
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
// Flushes the buffer at exit, however the process ends.
process.once("exit", stdout.flush)

/** Errors can hold integers that JSON lacks. */
export const encodeLine = (line: unknown): string =>
  JSON.stringify(line, (_, value: unknown) => (typeof value === "bigint" ? String(value) : value))

const toConsole = Logger.withLeveledConsole(Logger.map(structuredLogger, encodeLine))

/**
 * Logs one line of JSON per entry: to standard output, batched per turn of the event loop; warnings and worse immediately to
 * standard error, after a flush.
 */
export const jsonLogger = Logger.make<unknown, void>((options) => {
  if (options.logLevel === LogLevel.Info || options.logLevel === LogLevel.Debug) {
    stdout.add(encodeLine(structuredLogger.log(options)))
    return
  }
  stdout.flush()
  toConsole.log(options)
})
