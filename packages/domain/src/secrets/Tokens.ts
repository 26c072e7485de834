import { Context, type Effect, type Redacted } from "effect"

/** Bearer secrets: 256 random bits as base64url. */
export class Tokens extends Context.Tag("@berth/Tokens")<
  Tokens,
  { readonly make: Effect.Effect<Redacted.Redacted> }
>() {}
