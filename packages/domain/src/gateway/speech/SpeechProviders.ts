import { Context, type Effect, type Redacted } from "effect"
import type { ProviderFailed } from "../../ai/models/ModelErrors.ts"
import type { OwnableProvider } from "../../ai/keys/OwnerKeys.ts"
import type { PluginInputInvalid } from "../plugins/PluginRun.ts"
import type { Recording, SpeechInput } from "./Speech.ts"
import type { SpeechProviderName, SpeechVendor } from "./SpeechModel.ts"

/** The request to a provider, without its caller. */
export type Utterance = Omit<SpeechInput, "model" | "userId" | "ownKeysOnly">
export type RecordedAudio = Omit<Recording, "model" | "userId" | "ownKeysOnly">

export interface SpokenAudio {
  readonly audio: Uint8Array
  readonly contentType: string
}

export interface Transcript {
  readonly text: string
  /** How long the sound was, and what it cost in US dollars, where the provider says so. */
  readonly seconds: number | null
  readonly costUsd: number | null
}

/** One provider's wire. `model` is a model's name there. `PluginInputInvalid`: it refused what the caller wants spoken or heard. */
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

/** The vendors whose keys owners can bring. */
export type OwnableVendor = Extract<SpeechVendor, OwnableProvider>
export const ownableVendors = ["openai", "openrouter"] as const satisfies ReadonlyArray<OwnableVendor>

/** The providers of speech. */
export class SpeechProviders extends Context.Tag("@berth/SpeechProviders")<
  SpeechProviders,
  {
    /** Those that are configured: with a key of the platform's, and the sandbox where it is on. */
    readonly all: ReadonlyArray<SpeechProvider>
    /** One with another key than the platform's, and an id of the key, which gives nothing of it away. */
    readonly withKey: (
      name: OwnableVendor,
      key: Redacted.Redacted
    ) => Effect.Effect<{ readonly keyId: string; readonly provider: SpeechProvider }>
  }
>() {}
