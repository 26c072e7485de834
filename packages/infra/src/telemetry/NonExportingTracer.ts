import { type Context, type Option, Tracer } from "effect"

/** Eight random hexadecimal digits, not all zero. Below 2^31, where V8 formats a number six times as fast. */
const digits = () => (0x1000_0000 + Math.floor(Math.random() * 0x7000_0000)).toString(16)

const nothing: ReadonlyMap<string, unknown> = new Map()
const noLinks: ReadonlyArray<Tracer.SpanLink> = []
const started = { _tag: "Started", startTime: 0n } as const

/** A span with ids and name only. */
class NonExportedSpan implements Tracer.Span {
  readonly _tag = "Span"
  /** Other processes need not record their part of the trace. */
  readonly sampled = false
  readonly status = started
  readonly attributes = nothing
  readonly links = noLinks
  readonly traceId: string
  #spanId: string | undefined

  constructor(
    readonly name: string,
    readonly parent: Option.Option<Tracer.AnySpan>,
    readonly context: Context.Context<never>,
    readonly kind: Tracer.SpanKind
  ) {
    this.traceId = parent._tag === "Some" ? parent.value.traceId : `${digits()}${digits()}${digits()}${digits()}`
  }

  /** Created lazily, since most spans are never read. */
  get spanId(): string {
    this.#spanId ??= `${digits()}${digits()}`
    return this.#spanId
  }

  end(): void {}
  attribute(): void {}
  event(): void {}
  addLinks(): void {}
}

/**
 * Tracer without an exporter: logs, errors and calls to other processes contain the trace ids; events and attributes
 * are dropped.
 */
export const nonExportingTracer: Tracer.Tracer = Tracer.make({
  span: (name, parent, context, _links, _startTime, kind) => new NonExportedSpan(name, parent, context, kind),
  context: (evaluate) => evaluate()
})
