import { Context, Effect } from "effect"

/** Whether somebody gets the spans that are made. Where nobody does, one for each step of a call is work for nothing. */
export class SpanExportEnabled extends Context.Reference<SpanExportEnabled>()("@berth/SpanExportEnabled", {
  defaultValue: () => true
}) {}

/** A span around an effect, where it is sent. */
export const withExportedSpan =
  (name: string) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>) =>
    Effect.flatMap(SpanExportEnabled, (areSent) =>
      areSent ? Effect.withSpan(effect, name, { captureStackTrace: false }) : effect
    )
