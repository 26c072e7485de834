import { Context, Data, type Effect, type Option, type Redacted } from "effect"

/** Whoever asks is taken for a program, or could not show that he is none. */
export class BotBlocked extends Data.TaggedError("BotBlocked")<object> {}

/** What a request shows of who sends it. */
export interface Visitor {
  /** By lower-case names. */
  readonly headers: Readonly<Record<string, string | undefined>>
  /** The client's address. */
  readonly address: string
  /** What a challenge in the page has given the visitor, looked for only where it counts. */
  readonly token: Effect.Effect<Option.Option<Redacted.Redacted>>
}

/** Keeps programs out of what is meant for people. Whoever cannot be judged, since what would judge him does not answer, is kept out. */
export class BotDetection extends Context.Tag("@berth/BotDetection")<
  BotDetection,
  { readonly check: (visitor: Visitor) => Effect.Effect<void, BotBlocked> }
>() {}
