import type { ProviderFailed } from "@berth/domain/ai/models/ModelErrors"
import { PluginInputInvalid } from "@berth/domain/gateway/plugins/PluginRun"
import type { SpeechVendor } from "@berth/domain/gateway/speech/SpeechModel"
import type { SpeechProvider } from "@berth/domain/gateway/speech/SpeechProviders"
import { Effect, type Redacted } from "effect"
import { classifyOpenAiFailure } from "./OpenAiErrors.ts"
import { toProviderFailure, redactMessage } from "../vendor/ProviderFailure.ts"
import type { VendorFailure } from "../vendor/VendorErrors.ts"
import { makeOpenAiAudioClient } from "./OpenAiAudioClient.ts"

/** Every vendor requires a voice; Groq's voices differ. */
const defaults: { readonly [name in SpeechVendor]: { readonly voice: string; readonly format: string } } = {
  openai: { voice: "alloy", format: "mp3" },
  openrouter: { voice: "alloy", format: "mp3" },
  groq: { voice: "hannah", format: "wav" }
}

const contentTypes: ReadonlyMap<string, string> = new Map([
  ["mp3", "audio/mpeg"],
  ["opus", "audio/ogg"],
  ["aac", "audio/aac"],
  ["flac", "audio/flac"],
  ["wav", "audio/wav"],
  ["pcm", "audio/pcm"]
])

/** Statuses for rejected input, as opposed to a rejected key or model. */
const inputRejectionStatuses = new Set([400, 413, 415, 422])

/** OpenAI, OpenRouter, Groq or a compatible server. */
export const makeOpenAiSpeechProvider = (
  name: SpeechVendor,
  apiKey: Redacted.Redacted,
  baseUrl: string
): SpeechProvider => {
  const failed = toProviderFailure({ provider: name, apiKey, classify: classifyOpenAiFailure })
  const refusedBy =
    (field: string) =>
    (failure: VendorFailure): ProviderFailed | PluginInputInvalid => {
      const read = failed(failure)
      return failure._tag === "VendorRequestRejected" &&
        failure.status !== null &&
        inputRejectionStatuses.has(failure.status) &&
        read.kind === "refused"
        ? new PluginInputInvalid({
            field,
            reason: `was refused by ${name}: ${redactMessage(failure.message ?? `status ${failure.status}`, apiKey)}`
          })
        : read
    }
  const wire = makeOpenAiAudioClient({ apiKey, baseUrl })
  return {
    name,
    synthesize: (model, { format = defaults[name].format, speed, text, voice = defaults[name].voice }) =>
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
              contentType: contentType ?? contentTypes.get(format) ?? "application/octet-stream"
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
  }
}
