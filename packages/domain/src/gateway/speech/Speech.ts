import { Context, type Effect } from "effect"
import type { PluginFailed, PluginInputInvalid } from "../plugins/PluginRun.ts"
import type { UserId } from "../../shared/UserId.ts"

export interface SpeechInput {
  readonly text: string
  /** The speaker's name and the file's format, as OpenAI names them; absent: the provider's usual ones. */
  readonly voice?: string | undefined
  readonly format?: string | undefined
  /** 1 is natural; 0.25 to 4. */
  readonly speed?: number | undefined
  /** `provider/model`; absent: the one that is set. */
  readonly model?: string | undefined
  /** The caller, whose own keys come first; null for an anonymous one. */
  readonly userId: UserId | null
  /** Whether only a key of the caller's may be used. */
  readonly ownKeysOnly?: boolean | undefined
}

export interface Recording {
  readonly audio: Uint8Array
  readonly contentType: string
  readonly filename: string
  /** ISO 639-1. */
  readonly language?: string | undefined
  readonly prompt?: string | undefined
  readonly model?: string | undefined
  readonly userId: UserId | null
  readonly ownKeysOnly?: boolean | undefined
}

/** Text to speech and back, by whatever provider does it. Local in the backend's process, a client of the backend API elsewhere. */
export class Speech extends Context.Tag("@berth/Speech")<
  Speech,
  {
    readonly synthesize: (
      spoken: SpeechInput
    ) => Effect.Effect<
      { readonly audio: Uint8Array; readonly contentType: string; readonly ownKey: boolean },
      PluginFailed | PluginInputInvalid
    >
    readonly transcribe: (
      recording: Recording
    ) => Effect.Effect<{ readonly text: string; readonly ownKey: boolean }, PluginFailed | PluginInputInvalid>
  }
>() {}
