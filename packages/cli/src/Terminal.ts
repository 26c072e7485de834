import { Context, Data, type Effect, type Option, type Redacted, Schema } from "effect"

/** The command cannot continue; the message gives the reason. */
export class CommandFailed extends Data.TaggedError("CommandFailed")<{ readonly message: string }> {}

export const StoredAccess = Schema.Struct({ url: Schema.String, key: Schema.String })
export type StoredAccess = typeof StoredAccess.Type

/** The user's terminal and the file of the sign-in. */
export class Terminal extends Context.Tag("@berth/cli/Terminal")<
  Terminal,
  {
    /** Writes without a line break. */
    readonly write: (text: string) => Effect.Effect<void>
    /** Reads a line; a secret is not displayed. */
    readonly ask: (question: string, isSecret: boolean) => Effect.Effect<Redacted.Redacted>
    readonly read: Effect.Effect<Option.Option<StoredAccess>>
    readonly save: (access: StoredAccess) => Effect.Effect<void, CommandFailed>
  }
>() {}
