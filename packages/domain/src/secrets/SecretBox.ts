import { Context, Data, type Effect, type Redacted } from "effect"

/** Wrong key, wrong context or modified bytes. */
export class SecretUndecryptable extends Data.TaggedError("SecretUndecryptable")<{ readonly reason: string }> {}

/**
 * Authenticated encryption of secrets at rest. `context` names the row and column; a sealed value opens only in the
 * same context.
 */
export class SecretBox extends Context.Tag("@berth/SecretBox")<
  SecretBox,
  {
    readonly seal: (secret: Redacted.Redacted, context: string) => Effect.Effect<string>
    readonly open: (sealed: string, context: string) => Effect.Effect<Redacted.Redacted, SecretUndecryptable>
  }
>() {}
