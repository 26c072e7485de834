import type { ProviderFailed } from "@berth/domain/ai/ModelChat"
import { PluginInputIsInvalid } from "@berth/domain/gateway/PluginRun"
import type { SpeechVendor } from "@berth/domain/gateway/speech/SpeechModel"
import type { SpeechProvider } from "@berth/domain/gateway/speech/SpeechProviders"
import type { HttpClient } from "@effect/platform"
import { Effect, type Redacted } from "effect"
import { kindOfRefusal } from "../openai-wire/KindOfRefusal.ts"
import { readFailure, tidy } from "../wire/ReadFailure.ts"
import type { WireFailure } from "../wire/WireFailure.ts"
import { makeAudioWire } from "./AudioWire.ts"

export interface OpenAiAudioOptions {
  readonly name: SpeechVendor
  readonly apiKey: Redacted.Redacted
  /** With the version: https://api.openai.com/v1. */
  readonly baseUrl: string
}

/** What is asked for where the caller does not say: every vendor wants a voice, and not every one knows OpenAI's. */
const usual: { readonly [name in SpeechVendor]: { readonly voice: string; readonly format: string } } = {
  openai: { voice: "alloy", format: "mp3" },
  openrouter: { voice: "alloy", format: "mp3" },
  groq: { voice: "hannah", format: "wav" }
}

const types: ReadonlyMap<string, string> = new Map([
  ["mp3", "audio/mpeg"],
  ["opus", "audio/ogg"],
  ["aac", "audio/aac"],
  ["flac", "audio/flac"],
  ["wav", "audio/wav"],
  ["pcm", "audio/pcm"]
])

/** Statuses by which a vendor refuses what is to be spoken or heard, and not who asks or for which model. */
const ofInput = new Set([400, 413, 415, 422])

/** OpenAI, OpenRouter, Groq or whatever speaks like them as a provider of speech. */
export const makeOpenAiAudioProvider = ({
  apiKey,
  baseUrl,
  name
}: OpenAiAudioOptions): Effect.Effect<SpeechProvider, never, HttpClient.HttpClient> => {
  const failed = readFailure({ provider: name, apiKey, kindOf: kindOfRefusal })
  const refusedBy =
    (field: string) =>
    (failure: WireFailure): ProviderFailed | PluginInputIsInvalid => {
      const read = failed(failure)
      return failure._tag === "VendorRefused" &&
        failure.status !== null &&
        ofInput.has(failure.status) &&
        read.kind === "refused"
        ? new PluginInputIsInvalid({
            field,
            reason: `was refused by ${name}: ${tidy(failure.message ?? `status ${failure.status}`, apiKey)}`
          })
        : read
    }
  return Effect.map(makeAudioWire({ baseUrl, apiKey }), (wire): SpeechProvider => ({
    name,
    speak: (model, { format = usual[name].format, speed, text, voice = usual[name].voice }) =>
      wire
        .speech({
          model,
          input: text,
          voice,
          response_format: format,
          ...(speed === undefined || speed === 1 ? {} : { speed })
        })
        .pipe(
          Effect.mapBoth({
            onFailure: refusedBy("text"),
            onSuccess: ({ audio, contentType }) => ({
              audio,
              contentType: contentType ?? types.get(format) ?? "application/octet-stream"
            })
          })
        ),
    transcribe: (model, sound) =>
      wire.transcription(model, sound).pipe(
        Effect.mapBoth({
          onFailure: refusedBy("audio"),
          onSuccess: ({ text, usage }) => ({
            text,
            seconds: usage?.seconds ?? null,
            costUsd: usage?.cost ?? null
          })
        })
      )
  }))
}
