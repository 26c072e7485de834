import { nonExportingTracer } from "@berth/infra/telemetry/NonExportingTracer"
import { HttpTraceContext } from "@effect/platform"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Option, Tracer } from "effect"

const here = Effect.map(Effect.currentSpan, ({ parent, spanId, traceId }) => ({
  spanId,
  traceId,
  parentId: Option.getOrNull(Option.map(parent, (it) => it.spanId))
}))

const twoDeep = Effect.all([here, Effect.withSpan(here, "inner")]).pipe(Effect.withSpan("outer"))

describe("Spans without an exporter", () => {
  it.effect("Spans of nonExportingTracer have stable ids in the format of W3C trace context", () =>
    Effect.gen(function* () {
      const span = yield* Effect.makeSpan("alone")
      assert.match(span.traceId, /^[0-9a-f]{32}$/)
      assert.match(span.spanId, /^[0-9a-f]{16}$/)
      assert.strictEqual(span.spanId, span.spanId)
      assert.notStrictEqual((yield* Effect.makeSpan("another")).traceId, span.traceId)
    }).pipe(Effect.withTracer(nonExportingTracer))
  )

  it.effect("Spans of nonExportingTracer belong to the trace of their parent", () =>
    Effect.gen(function* () {
      const [outer, inner] = yield* twoDeep
      assert.strictEqual(inner.traceId, outer.traceId)
      assert.strictEqual(inner.parentId, outer.spanId)
      assert.notStrictEqual(inner.spanId, outer.spanId)
    }).pipe(Effect.withTracer(nonExportingTracer))
  )

  it.effect("Spans of nonExportingTracer are not sampled, so that instances record nothing", () =>
    Effect.gen(function* () {
      const caller = { traceId: "0af7651916cd43dd8448eb211c80319c", spanId: "b7ad6b7169203331", sampled: true }
      const span = yield* Effect.makeSpan("called", { parent: Tracer.externalSpan(caller) })
      assert.isFalse(span.sampled)
      assert.match(HttpTraceContext.toHeaders(span)["traceparent"] ?? "", /^00-0af7651916cd43dd8448eb211c80319c-.*-00$/)
    }).pipe(Effect.withTracer(nonExportingTracer))
  )

  it.effect("Spans of nonExportingTracer continue an external trace", () =>
    Effect.gen(function* () {
      const traceId = "0af7651916cd43dd8448eb211c80319c"
      const [outer] = yield* Effect.withParentSpan(
        twoDeep,
        Tracer.externalSpan({ traceId, spanId: "b7ad6b7169203331" })
      )
      assert.strictEqual(outer.traceId, traceId)
      assert.strictEqual(outer.parentId, "b7ad6b7169203331")
    }).pipe(Effect.withTracer(nonExportingTracer))
  )
})
