import { redactText } from "./TextRedaction.ts"
import { Context, FiberRef, FiberRefs, Logger, Option, Tracer } from "effect"

/** A log line of any process: these keys, and the annotations of the entry beside them. */
export interface LogLine extends Readonly<Record<string, unknown>> {
  /** ISO 8601. */
  readonly timestamp: string
  readonly level: string
  readonly message: string
  readonly trace_id?: string
  readonly span_id?: string
}

/** JSON of a value; errors can hold integers that JSON lacks. */
export const encodeLine = (line: unknown): string =>
  JSON.stringify(line, (_, value: unknown) => (typeof value === "bigint" ? String(value) : value))

const toText = (part: unknown) => (typeof part === "string" ? part : encodeLine(part))

/** The parts of a message as one text. */
const formatMessage = (message: unknown): string =>
  Array.isArray(message) ? message.map(toText).join(" ") : toText(message)

/** The search for secrets takes quadratic time. */
const maximumCauseLength = 8192

/** Formats a log entry with the ids of its trace and span. */
export const structuredLogger = Logger.make<unknown, LogLine>((options) => {
  const span = Context.getOption(FiberRefs.getOrDefault(options.context, FiberRef.currentContext), Tracer.ParentSpan)
  const { annotations, cause, message, timestamp } = Logger.structuredLogger.log(options)
  return {
    timestamp,
    level: options.logLevel.label.toLowerCase(),
    message: formatMessage(message),
    ...annotations,
    ...(cause === undefined ? {} : { cause: redactText(cause.slice(0, maximumCauseLength)) }),
    ...(Option.isSome(span) ? { trace_id: span.value.traceId, span_id: span.value.spanId } : {})
  }
})
