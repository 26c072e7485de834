import { Context, type Effect } from "effect"
import type { AnsweringModel } from "../../ai/models/AnsweringModel.ts"
import type { PluginFailed, PluginInputInvalid } from "../plugins/PluginRun.ts"
import type { UserId } from "../../shared/UserId.ts"

export interface SpeechInput {
  readonly text: string
  /** Default: the provider's default voice. */
  readonly voice?: string | undefined
  readonly format?: string | undefined
  /** 0.25 to 4; 1 is normal. */
  readonly speed?: number | undefined
  /** `provider/model`; default: the configured one. */
  readonly model?: string | undefined
  /** The caller, whose own keys have precedence; null if anonymous. */
  readonly userId: UserId | null
  /** Whether platform keys are excluded. */
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

export interface SpeechAnswer {
  readonly ownKey: boolean
  readonly answeredBy: AnsweringModel
}

/**
 * Text to speech and speech to text: implemented by the backend's process, and by clients of the backend API elsewhere.
 */
export class Speech extends Context.Tag("@berth/Speech")<
  Speech,
  {
    readonly synthesize: (
      spoken: SpeechInput
    ) => Effect.Effect<
      SpeechAnswer & { readonly audio: Uint8Array; readonly contentType: string },
      PluginFailed | PluginInputInvalid
    >
    readonly transcribe: (
      recording: Recording
    ) => Effect.Effect<SpeechAnswer & { readonly text: string }, PluginFailed | PluginInputInvalid>
  }
>() {}
