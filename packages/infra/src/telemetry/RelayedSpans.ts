import type { RuntimeSpan } from "@berth/domain/instances/RuntimeSpans"
import { TraceFlags } from "@opentelemetry/api"
import type { Resource } from "@opentelemetry/resources"
import type { ReadableSpan } from "@opentelemetry/sdk-trace-base"
import { Cause, Exit, FiberId } from "effect"
import { finishSpan, kinds, toHrTime } from "./OtelTracer.ts"

const interruption = Exit.failCause(Cause.interrupt(FiberId.none))

const toExit = (exit: RuntimeSpan["exit"]): Exit.Exit<unknown, unknown> => {
  if (exit.type === "success") return Exit.void
  if (exit.type === "interruption") return interruption
  const { message, name, stack } = exit
  const error = Object.assign(new Error(message), { _tag: name, name, stack })
  return exit.type === "defect" ? Exit.die(error) : Exit.fail(error)
}

/** Excludes attributes of databases and messaging, which an instance could only forge. */
const isOfRuntimes = ([key]: RuntimeSpan["attributes"][number]) =>
  /^(?:http|url|server|client|network|gen_ai|berth|error)\./.test(key)

/** Maximum characters of a span's attributes, since many spans wait while the collector is unavailable. */
const maximumAttributesLength = 16_384

const limitAttributes = (attributes: RuntimeSpan["attributes"]): RuntimeSpan["attributes"] => {
  let left = maximumAttributesLength
  return attributes.filter((attribute) => (left -= JSON.stringify(attribute).length) >= 0)
}

/** Converts a span of a runtime by the conventions, with a resource that the runtime cannot choose. */
export const toReadableSpan = (
  span: RuntimeSpan,
  from: { readonly resource: Resource; readonly instrumentationScope: ReadableSpan["instrumentationScope"] }
): ReadableSpan => {
  const { attributes, kind, name, parentSpanId, spanId, startedAt, traceId } = span
  const endedAt = Math.max(span.endedAt, startedAt)
  const toTime = (micros: number) => toHrTime(BigInt(micros) * 1000n)
  const context = (id: string) => ({ traceId, spanId: id, traceFlags: TraceFlags.SAMPLED })
  const endTime = toTime(endedAt)
  return {
    ...finishSpan(
      { name, kind, attributes: new Map(limitAttributes(attributes.filter(isOfRuntimes))), exit: toExit(span.exit) },
      endTime
    ),
    ...from,
    kind: kinds[kind],
    spanContext: () => context(spanId),
    parentSpanContext: { ...context(parentSpanId), isRemote: true },
    startTime: toTime(startedAt),
    endTime,
    duration: toTime(endedAt - startedAt),
    ended: true,
    links: [],
    droppedAttributesCount: 0,
    droppedEventsCount: 0,
    droppedLinksCount: 0
  }
}
