import { PluginInputInvalid } from "@berth/domain/gateway/plugins/PluginRun"
import { detectAudioKind } from "@berth/domain/gateway/speech/AudioContainer"
import type { SpeechProvider, SpokenAudio, Transcript, Utterance } from "@berth/domain/gateway/speech/SpeechProviders"
import { Effect, Option } from "effect"
import { synthesizeTones, toneSampleRate } from "./SandboxTones.ts"
import { readWav, writeWav } from "./WavFile.ts"

const program = "Berth sandbox speech"
const notAnAi = "This is Berth's sandbox, which listens to nothing"

/** Encodes a text as tones and metadata. Always WAV, regardless of the requested format. */
export const speakInSandbox = ({ speed = 1, text }: Utterance): SpokenAudio => ({
  audio: writeWav(synthesizeTones(text, speed), toneSampleRate, [
    { name: "ISFT", text: program },
    { name: "ICMT", text: text.replaceAll("\0", "") }
  ]),
  contentType: "audio/wav"
})

/** Returns the text in the metadata; a description for other audio. Null for a malformed WAV. */
export const transcribeInSandbox = (audio: Uint8Array): Transcript | null => {
  const kind = Option.getOrNull(detectAudioKind(audio))
  if (kind === null) return null
  if (kind.container !== "wav") {
    return {
      text: `${notAnAi}: this is a sound of ${audio.length} bytes, as ${kind.container}.`,
      seconds: null,
      costUsd: 0
    }
  }
  const file = readWav(audio)
  if (file === null) return null
  const named = (name: string) => file.texts.find((field) => field.name === name)?.text
  const spoken = named("ISFT") === program ? named("ICMT") : undefined
  return {
    text: spoken ?? `${notAnAi}: this is a sound of ${file.seconds.toFixed(1)} seconds, as wav.`,
    seconds: file.seconds,
    costUsd: 0
  }
}

/** Deterministic speech without a provider. */
export const sandboxSpeechProvider: SpeechProvider = {
  name: "sandbox",
  synthesize: (_, utterance) => Effect.sync(() => speakInSandbox(utterance)),
  transcribe: (_, { audio }) =>
    Effect.suspend(() => {
      const transcript = transcribeInSandbox(audio)
      return transcript === null
        ? Effect.fail(new PluginInputInvalid({ field: "audio", reason: "cannot be played" }))
        : Effect.succeed(transcript)
    })
}
