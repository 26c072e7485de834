import { type Context, type Option, Tracer } from "effect"

/** 32 random bits as eight hexadecimal digits; the first bit is set, since an id must not be all zeros. */
const digits = () => (0x8000_0000 + Math.floor(Math.random() * 0x8000_0000)).toString(16)

const nothing: ReadonlyMap<string, unknown> = new Map()
const noLinks: ReadonlyArray<Tracer.SpanLink> = []
const started = { _tag: "Started", startTime: 0n } as const

/** What a span is to those who only ask where they are: its ids and its name. */
class NonExportedSpan implements Tracer.Span {
  readonly _tag = "Span"
  readonly sampled = true
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

  /** Most spans are never asked. */
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
 * Spans where there is no collector: logs, errors and what is asked of other processes still carry the trace, and nothing is
 * kept of what happened in between, since nobody would ever read it.
 */
export const nonExportingTracer: Tracer.Tracer = Tracer.make({
  span: (name, parent, context, _links, _startTime, kind) => new NonExportedSpan(name, parent, context, kind),
  context: (evaluate) => evaluate()
})
