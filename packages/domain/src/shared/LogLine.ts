import { AnnotatedEntry } from "./AnnotatedLog.ts"
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
interface LogLine extends Readonly<Record<string, unknown>> {
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

export const findSpan = (entry: Logger.Logger.Options<unknown>) =>
  entry instanceof AnnotatedEntry
    ? entry.span
    : Option.getOrUndefined(
        Context.getOption(FiberRefs.getOrDefault(entry.context, FiberRef.currentContext), Tracer.ParentSpan)
      )

const isCause = (part: unknown, index: number) => index > 0 && Predicate.isError(part)

/** Returns the parts of a message, and the errors beside it. Most messages have one part. */
const splitMessage = (message: unknown): [values: ReadonlyArray<unknown>, errors: ReadonlyArray<unknown>] => {
  const parts: ReadonlyArray<unknown> = Array.isArray(message) ? message : [message]
  return parts.length === 1 ? [parts, []] : Arr.partition(parts, isCause)
}

const joinCauses = (cause: Cause.Cause<unknown>, errors: ReadonlyArray<unknown>) =>
  errors.reduce((all: Cause.Cause<unknown>, error) => Cause.sequential(all, Cause.fail(error)), cause)

/** Returns the cause of an entry with the errors beside its message. */
export const findCause = ({ cause, message }: Logger.Logger.Options<unknown>): Cause.Cause<unknown> =>
  joinCauses(cause, splitMessage(message)[1])

/** Formats a log entry with the ids of its trace and span. */
export const structuredLogger = Logger.make<unknown, LogLine>((entry) => {
  const { cause, date, logLevel, message } = entry
  const span = findSpan(entry)
  const [values, errors] = splitMessage(message)
  const causes = joinCauses(cause, errors)
  const line: Record<string, unknown> & LogLine = {
    timestamp: date.toISOString(),
    level: logLevel.label.toLowerCase(),
    message: values.map(toText).join(" ")
  }
  const isAnnotated = entry instanceof AnnotatedEntry
  for (const [name, value] of isAnnotated ? entry.inherited : entry.annotations) line[name] = toPlain(value)
  if (isAnnotated) for (const name in entry.fields) line[name] = toPlain(entry.fields[name])
  if (!Cause.isEmpty(causes))
    line["cause"] = redactText(Cause.pretty(causes, { renderErrorCause: true }).slice(0, maximumCauseLength))
  return span === undefined ? line : Object.assign(line, { trace_id: span.traceId, span_id: span.spanId })
})
