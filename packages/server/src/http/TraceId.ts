import { Effect, Option } from "effect"

/** The trace of the current span, by which logs are found. */
export const currentTraceId = Effect.map(
  Effect.option(Effect.currentSpan),
  Option.map(({ traceId }) => traceId)
)

/** An error body of a stream, which the pipeline does not complete, with the trace id. */
export const withTraceId = <Body extends object>(body: Body): Effect.Effect<Body & { readonly traceId?: string }> =>
  Effect.map(currentTraceId, (traceId) => (Option.isNone(traceId) ? body : { ...body, traceId: traceId.value }))
