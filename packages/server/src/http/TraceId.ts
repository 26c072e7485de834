import { Effect, Option } from "effect"

export const currentTraceId = Effect.withFiberRuntime<Option.Option<string>>(({ currentSpan }) =>
  Effect.succeed(currentSpan?._tag === "Span" ? Option.some(currentSpan.traceId) : Option.none())
)

/** Adds the trace id to an error body in a stream, which the pipeline does not complete. */
export const withTraceId = <Body extends object>(body: Body): Effect.Effect<Body & { readonly traceId?: string }> =>
  Effect.map(currentTraceId, (traceId) => (Option.isNone(traceId) ? body : { ...body, traceId: traceId.value }))
