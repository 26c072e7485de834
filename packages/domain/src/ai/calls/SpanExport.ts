import { Context, Effect } from "effect"

/** Whether spans are exported; otherwise hot paths make none. */
export class SpanExportEnabled extends Context.Reference<SpanExportEnabled>()("@berth/SpanExportEnabled", {
  defaultValue: () => true
}) {}

/** A span around an effect, if spans are exported. */
export const withExportedSpan =
  (name: string) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>) =>
    Effect.flatMap(SpanExportEnabled, (areSent) =>
      areSent ? Effect.withSpan(effect, name, { captureStackTrace: false }) : effect
    )
