import { Context, Effect, type Scope } from "effect"

/** Whether spans are exported; if not, hot paths create none. */
export class SpanExportEnabled extends Context.Reference<SpanExportEnabled>()("@berth/SpanExportEnabled", {
  defaultValue: () => true
}) {}

/** Hot path: `SpanExportEnabled` in two operations. */
export const areSpansExported = Effect.withFiberRuntime<boolean>(({ currentContext }) =>
  Effect.succeed(Context.get(currentContext, SpanExportEnabled))
)

/** Wraps an effect in a span if spans are exported. */
export const withExportedSpan =
  (name: string) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>) =>
    Effect.withFiberRuntime<A, E, R>(({ currentContext }) =>
      Context.get(currentContext, SpanExportEnabled)
        ? Effect.withSpan(effect, name, { captureStackTrace: false })
        : effect
    )

/** Annotates the current span, if any. */
export const annotateSpan = (attributes: Readonly<Record<string, unknown>>): Effect.Effect<void> =>
  Effect.withFiberRuntime(({ currentSpan }) => {
    if (currentSpan?._tag === "Span")
      for (const [name, value] of Object.entries(attributes)) currentSpan.attribute(name, value)
    return Effect.void
  })

/** Wraps an effect that acquires a resource in a span; the span ends with the scope. */
export const withScopedSpan =
  (name: string, attributes: Record<string, unknown>) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R | Scope.Scope> =>
    Effect.withFiberRuntime<A, E, R | Scope.Scope>(({ currentContext, currentSpan }) =>
      Context.get(currentContext, SpanExportEnabled) && currentSpan?.sampled !== false
        ? Effect.flatMap(Effect.makeSpanScoped(name, { attributes, captureStackTrace: false }), (span) =>
            Effect.withParentSpan(effect, span)
          )
        : effect
    )
