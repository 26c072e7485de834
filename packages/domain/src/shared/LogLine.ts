import { redactText } from "./TextRedaction.ts"
import {
  Array as Arr,
  Cause,
  Context,
  FiberRef,
  FiberRefs,
  Inspectable,
  Logger,
  Option,
  Predicate,
  Tracer
} from "effect"

/** A log line of any process: these keys, and the annotations of the entry. */
export interface LogLine extends Readonly<Record<string, unknown>> {
  /** ISO 8601. */
  readonly timestamp: string
  readonly level: string
  readonly message: string
  readonly trace_id?: string
  readonly span_id?: string
}

const encodeFast = Option.liftThrowable((line: unknown): string => JSON.stringify(line))

/** Encodes a value as JSON; supports big integers, which errors can contain. A replacer takes twice the time. */
export const encodeLine = (line: unknown): string =>
  Option.getOrElse(encodeFast(line), () =>
    JSON.stringify(line, (_, value: unknown) => (typeof value === "bigint" ? String(value) : value))
  )

const toPlain = (value: unknown): unknown =>
  typeof value === "bigint" || typeof value === "function" || typeof value === "symbol"
    ? String(value)
    : Inspectable.toJSON(value)

const toText = (part: unknown): string => {
  const plain = toPlain(part)
  return typeof plain === "string" ? plain : encodeLine(plain)
}

/** Limits the search for secrets, which takes quadratic time. */
const maximumCauseLength = 8192

/** Formats a log entry with the ids of its trace and span. */
export const structuredLogger = Logger.make<unknown, LogLine>(
  ({ annotations, cause, context, date, logLevel, message }) => {
    const span = Context.getOption(FiberRefs.getOrDefault(context, FiberRef.currentContext), Tracer.ParentSpan)
    const parts: ReadonlyArray<unknown> = Array.isArray(message) ? message : [message]
    const isCause = (part: unknown, index: number) => index > 0 && Predicate.isError(part)
    // Most messages have one part.
    const [values, errors] = parts.length === 1 ? [parts, []] : Arr.partition(parts, isCause)
    const causes = errors.reduce((all: Cause.Cause<unknown>, error) => Cause.sequential(all, Cause.fail(error)), cause)
    const line: Record<string, unknown> & LogLine = {
      timestamp: date.toISOString(),
      level: logLevel.label.toLowerCase(),
      message: values.map(toText).join(" ")
    }
    for (const [name, value] of annotations) line[name] = toPlain(value)
    if (!Cause.isEmpty(causes))
      line["cause"] = redactText(Cause.pretty(causes, { renderErrorCause: true }).slice(0, maximumCauseLength))
    return Option.isNone(span)
      ? line
      : Object.assign(line, { trace_id: span.value.traceId, span_id: span.value.spanId })
  }
)
