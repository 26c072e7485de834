import { redactText } from "./TextRedaction.ts"
import { Context, FiberRef, FiberRefs, Logger, Option, Tracer } from "effect"

/** A log line of any process: these keys, and the annotations of the entry. */
export interface LogLine extends Readonly<Record<string, unknown>> {
  /** ISO 8601. */
  readonly timestamp: string
  readonly level: string
  readonly message: string
  readonly trace_id?: string
  readonly span_id?: string
}

/** Encodes a value as JSON; supports big integers, which errors can contain. */
export const encodeLine = (line: unknown): string =>
  JSON.stringify(line, (_, value: unknown) => (typeof value === "bigint" ? String(value) : value))

const toText = (part: unknown) => (typeof part === "string" ? part : encodeLine(part))

/** Joins the parts of a message. */
const formatMessage = (message: unknown): string =>
  Array.isArray(message) ? message.map(toText).join(" ") : toText(message)

/** Limits the search for secrets, which takes quadratic time. */
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
