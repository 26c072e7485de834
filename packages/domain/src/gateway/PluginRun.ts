import { Data, type Duration, type Stream } from "effect"

/**
 * A plugin could not do what it was asked to; `reason` is a sentence for the caller, with no secret in it. `retryAfter` is
 * what a provider asked for.
 */
export class PluginFailed extends Data.TaggedError("PluginFailed")<{
  readonly reason: string
  readonly retryAfter?: Duration.Duration | undefined
}> {
  override get message() {
    return this.reason
  }
}

/** What the caller asked of a plugin cannot be done as he asked it: his to put right. */
export class PluginInputIsInvalid extends Data.TaggedError("PluginInputIsInvalid")<{
  readonly field: string
  readonly reason: string
}> {
  override get message() {
    return `${this.field}: ${this.reason}`
  }
}

/** The end of a plugin's answer. */
export interface PluginAnswer {
  /** The whole text; of speech, its base64. */
  readonly message: string
  /** Tokens that models took, as far as the plugin is priced by them. */
  readonly tokens: number | null
  /** Whether every model call of it went by the caller's own keys: then it costs him nothing here. */
  readonly ownKey: boolean
  /** The type of the audio in `message`, of a plugin that speaks. */
  readonly audioType?: string | undefined
}

/** Pieces of text, none of them empty, then one `done` as the last. */
export type PluginEvent = { readonly type: "delta"; readonly text: string } | ({ readonly type: "done" } & PluginAnswer)

/** Ends with `done`, or fails. What is behind it is called once it is read, and ends when its reader leaves. */
export type PluginRun = Stream.Stream<PluginEvent, PluginFailed | PluginInputIsInvalid>
