import { Context, type Effect, type Redacted } from "effect"
import type { ProviderFailed } from "../../ai/models/ModelErrors.ts"
import type { PluginInputInvalid } from "../plugins/PluginRun.ts"
import type { Recording, SpeechInput } from "./Speech.ts"
import type { SpeechProviderName, SpeechVendor } from "./SpeechModel.ts"

export type Utterance = Omit<SpeechInput, "model" | "userId" | "ownKeysOnly">
export type RecordedAudio = Omit<Recording, "model" | "userId" | "ownKeysOnly">

export interface SpokenAudio {
  readonly audio: Uint8Array
  readonly contentType: string
}

export interface Transcript {
  readonly text: string
  /** Seconds and US dollars, if the provider reports them. */
  readonly seconds: number | null
  readonly costUsd: number | null
}

/** `model` is named as by the provider. `PluginInputInvalid`: the provider rejects the input. */
export interface SpeechProvider {
  readonly name: SpeechProviderName
  readonly synthesize: (
    model: string,
    utterance: Utterance
  ) => Effect.Effect<SpokenAudio, ProviderFailed | PluginInputInvalid>
  readonly transcribe: (
    model: string,
    sound: RecordedAudio
  ) => Effect.Effect<Transcript, ProviderFailed | PluginInputInvalid>
}

export class SpeechProviders extends Context.Tag("@berth/SpeechProviders")<
  SpeechProviders,
  {
    /** Configured providers: those with a platform key, and the sandbox if enabled. */
    readonly all: ReadonlyArray<SpeechProvider>
    /** A provider with an owner's key, and an id that does not reveal the key. */
    readonly withKey: (
      name: SpeechVendor,
      key: Redacted.Redacted
    ) => Effect.Effect<{ readonly keyId: string; readonly provider: SpeechProvider }>
  }
>() {}
