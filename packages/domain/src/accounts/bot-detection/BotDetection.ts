import { Context, Data, type Effect, type Option, type Redacted } from "effect"

/** The request looks automated, or its challenge failed. */
export class BotBlocked extends Data.TaggedError("BotBlocked")<object> {}

export interface Visitor {
  /** Keyed by lower-case name. */
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly address: string
  /** Challenge token of the page; read only by detectors that use it. */
  readonly token: Effect.Effect<Option.Option<Redacted.Redacted>>
}

/** Rejects automated requests. Fails closed. */
export class BotDetection extends Context.Tag("@berth/BotDetection")<
  BotDetection,
  { readonly check: (visitor: Visitor) => Effect.Effect<void, BotBlocked> }
>() {}
