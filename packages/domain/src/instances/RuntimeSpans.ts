import { Context, Effect, Schema } from "effect"
import { RateLimiter } from "../limits/RateLimiter.ts"
import type { UserId } from "../shared/UserId.ts"

/** Maximum spans of a relayed batch, attributes of a span, and lengths of its texts. */
export const maximumBatchSpans = 128
export const maximumSpanAttributes = 64
export const maximumSpanName = 128
export const maximumSpanText = 2_048

const Name = Schema.String.pipe(Schema.maxLength(maximumSpanName))
const Text = Schema.String.pipe(Schema.maxLength(maximumSpanText))
const Id = (digits: 16 | 32) =>
  Schema.String.pipe(Schema.pattern(new RegExp(`^(?!0+$)[0-9a-f]{${digits}}$`))).annotations({
    examples: ["4bf92f3577b34da6a3ce929d0e0e4736".slice(0, digits)]
  })

/** An ended span of a runtime. */
export const RuntimeSpan = Schema.Struct({
  traceId: Id(32),
  spanId: Id(16),
  parentSpanId: Id(16),
  name: Name,
  kind: Schema.Literal("internal", "server", "client", "producer", "consumer"),
  /** Epoch microseconds. */
  startedAt: Schema.NonNegativeInt,
  endedAt: Schema.NonNegativeInt,
  attributes: Schema.Array(
    Schema.Tuple(
      Name,
      Schema.Union(
        Text,
        Schema.JsonNumber,
        Schema.Boolean,
        Schema.Array(Text).pipe(Schema.maxItems(maximumSpanAttributes))
      )
    )
  ).pipe(Schema.maxItems(maximumSpanAttributes)),
  exit: Schema.Union(
    Schema.Struct({ type: Schema.Literal("success") }),
    Schema.Struct({ type: Schema.Literal("interruption") }),
    Schema.Struct({ type: Schema.Literal("failure", "defect"), name: Name, message: Text, stack: Text })
  )
})
export type RuntimeSpan = typeof RuntimeSpan.Type

/** Exports spans of an owner's instance. Default: drops them, as in processes without an exporter. */
export class RuntimeSpanExporter extends Context.Reference<RuntimeSpanExporter>()("@berth/RuntimeSpanExporter", {
  defaultValue:
    () =>
    (_owner: UserId, _spans: ReadonlyArray<RuntimeSpan>): Effect.Effect<void> =>
      Effect.void
}) {}

/** Spans relayed by instances, which have no access to the collector. */
export class RuntimeSpans extends Effect.Service<RuntimeSpans>()("@berth/RuntimeSpans", {
  effect: Effect.gen(function* () {
    const limiter = yield* RateLimiter
    const send = yield* RuntimeSpanExporter
    return {
      relay: Effect.fn("RuntimeSpans.relay")((owner: UserId, spans: ReadonlyArray<RuntimeSpan>) =>
        Effect.zipRight(limiter.take("runtime-spans", owner), send(owner, spans))
      )
    }
  })
}) {}
