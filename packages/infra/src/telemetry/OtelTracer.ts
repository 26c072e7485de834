import {
  type AttributeValue,
  type HrTime,
  type Link,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  trace,
  TraceFlags,
  type Tracer as OtelTracer
} from "@opentelemetry/api"
import { type Context, type Exit, type Option, Tracer } from "effect"
import { describeSpan, type SpanEnd, toAttributeValue, toConventionalKind } from "./SpanConventions.ts"

export const kinds: { readonly [kind in Tracer.SpanKind]: SpanKind } = {
  internal: SpanKind.INTERNAL,
  client: SpanKind.CLIENT,
  server: SpanKind.SERVER,
  producer: SpanKind.PRODUCER,
  consumer: SpanKind.CONSUMER
}

const nanosPerSecond = 1_000_000_000n
export const toHrTime = (nanos: bigint): HrTime => [Number(nanos / nanosPerSecond), Number(nanos % nanosPerSecond)]

export const toSpanContext = (span: Tracer.AnySpan): SpanContext => ({
  traceId: span.traceId,
  spanId: span.spanId,
  isRemote: span._tag === "ExternalSpan",
  traceFlags: span.sampled ? TraceFlags.SAMPLED : TraceFlags.NONE
})

type AttributeValues = Record<string, AttributeValue>

const toAttributes = (values: Readonly<Record<string, unknown>>): AttributeValues => {
  const attributes: AttributeValues = {}
  for (const [key, value] of Object.entries(values)) attributes[key] = toMutable(toAttributeValue(value))
  return attributes
}

const toMutable = (value: ReturnType<typeof toAttributeValue>): AttributeValue =>
  typeof value === "object" ? [...value] : value

const toLink = ({ attributes, span }: Tracer.SpanLink): Link => ({
  context: toSpanContext(span),
  attributes: toAttributes(attributes)
})

/** Name, attributes, status and events of an ended span. */
export const finishSpan = (end: SpanEnd, time: HrTime) => {
  const { attributes, exception, isError, name } = describeSpan(end)
  return {
    name,
    attributes: toAttributes(attributes),
    status: { code: isError ? SpanStatusCode.ERROR : SpanStatusCode.UNSET },
    events:
      exception === undefined
        ? []
        : [
            {
              name: "exception",
              time,
              attributes: {
                "exception.type": exception.type,
                "exception.message": exception.message,
                "exception.stacktrace": exception.stacktrace
              }
            }
          ]
  }
}

/** An SDK span that gets its name, attributes and status by the conventions at its end. */
class ExportedSpan implements Tracer.Span {
  readonly _tag = "Span"
  readonly traceId: string
  readonly spanId: string
  readonly sampled: boolean
  readonly attributes = new Map<string, unknown>()
  readonly links: Array<Tracer.SpanLink>
  readonly kind: Tracer.SpanKind
  readonly #span: Span
  status: Tracer.SpanStatus

  constructor(
    tracer: OtelTracer,
    readonly name: string,
    readonly parent: Option.Option<Tracer.AnySpan>,
    readonly context: Context.Context<never>,
    links: ReadonlyArray<Tracer.SpanLink>,
    startTime: bigint,
    kind: Tracer.SpanKind
  ) {
    this.kind = toConventionalKind(name, kind)
    this.links = [...links]
    this.status = { _tag: "Started", startTime }
    this.#span = tracer.startSpan(
      name,
      { kind: kinds[this.kind], startTime: toHrTime(startTime), links: links.map(toLink) },
      parent._tag === "Some" ? trace.setSpanContext(ROOT_CONTEXT, toSpanContext(parent.value)) : ROOT_CONTEXT
    )
    const { spanId, traceFlags, traceId } = this.#span.spanContext()
    this.traceId = traceId
    this.spanId = spanId
    this.sampled = (traceFlags & 1) === 1
  }

  attribute(key: string, value: unknown): void {
    if (this.sampled) this.attributes.set(key, value)
  }

  event(name: string, startTime: bigint, attributes: Record<string, unknown> = {}): void {
    if (this.sampled) this.#span.addEvent(name, toAttributes(attributes), toHrTime(startTime))
  }

  addLinks(links: ReadonlyArray<Tracer.SpanLink>): void {
    this.links.push(...links)
    this.#span.addLinks(links.map(toLink))
  }

  end(endTime: bigint, exit: Exit.Exit<unknown, unknown>): void {
    this.status = { _tag: "Ended", startTime: this.status.startTime, endTime, exit }
    const time = toHrTime(endTime)
    if (this.sampled) {
      const { attributes, events, name, status } = finishSpan(
        { name: this.name, kind: this.kind, attributes: this.attributes, exit },
        time
      )
      this.#span.updateName(name).setAttributes(attributes).setStatus(status)
      for (const event of events) this.#span.addEvent(event.name, event.attributes, event.time)
    }
    this.#span.end(time)
  }
}

/** Effect tracer over an SDK tracer. */
export const makeOtelTracer = (tracer: OtelTracer): Tracer.Tracer =>
  Tracer.make({
    span: (name, parent, context, links, startTime, kind) =>
      new ExportedSpan(tracer, name, parent, context, links, startTime, kind),
    context: (evaluate) => evaluate()
  })
