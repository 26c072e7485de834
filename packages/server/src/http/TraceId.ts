import { Effect, Option } from "effect"

/** The trace of the current span, by which logs are found. */
export const currentTraceId = Effect.withFiberRuntime<Option.Option<string>>(({ currentSpan }) =>
  Effect.succeed(currentSpan?._tag === "Span" ? Option.some(currentSpan.traceId) : Option.none())
)

/** An error body of a stream, which the pipeline does not complete, with the trace id. */
export const withTraceId = <Body extends object>(body: Body): Effect.Effect<Body & { readonly traceId?: string }> =>
  Effect.map(currentTraceId, (traceId) => (Option.isNone(traceId) ? body : { ...body, traceId: traceId.value }))
