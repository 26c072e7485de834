import { type Recording, Speech, type SpeechAnswer, type SpeechInput } from "@berth/domain/gateway/speech/Speech"
import { resolveSpeechModel } from "@berth/domain/gateway/speech/SpeechModel"
import { validateRecording, validateSpeechInput } from "@berth/domain/gateway/speech/SpeechLimits"
import { Context, Effect, Either, Layer } from "effect"
import { makeTestPort, type TestPortHandle } from "../testing/TestPort.ts"

export class SpeechTest extends Context.Tag("@berth/test/SpeechTest")<
  SpeechTest,
  TestPortHandle<SpeechInput | Recording, Speech["Type"]>
>() {}

const answer: SpeechAnswer = { ownKey: false, answeredBy: { model: "sandbox/speech", provider: "sandbox" } }

/** Prefix of the audio of a text. */
export const fakeAudioHeader = "ID3SAID:"

const defaultBehavior: Speech["Type"] = {
  synthesize: (input) =>
    Either.andThen(
      validateSpeechInput(input),
      resolveSpeechModel(input.model, { provider: "sandbox", name: "speech" })
    ).pipe(
      Effect.as({
        audio: new TextEncoder().encode(`${fakeAudioHeader}${input.text}`),
        contentType: input.format === "wav" ? "audio/wav" : "audio/mpeg",
        ...answer
      })
    ),
  transcribe: (recording) =>
    Effect.map(validateRecording(recording), () => {
      const text = new TextDecoder().decode(recording.audio)
      const isSpoken = text.startsWith(fakeAudioHeader)
      return { text: isSpoken ? text.slice(fakeAudioHeader.length) : `${recording.audio.length} bytes`, ...answer }
    })
}

/** Speech whose audio is a header and the text; transcribes other recordings to their size. */
export const layer: Layer.Layer<Speech | SpeechTest> = Layer.effectContext(
  Effect.map(makeTestPort<SpeechInput | Recording, Speech["Type"]>(defaultBehavior), ({ handle, run }) =>
    Context.make(Speech, {
      synthesize: (input) => run(input, ({ synthesize }) => synthesize(input)),
      transcribe: (recording) => run(recording, ({ transcribe }) => transcribe(recording))
    }).pipe(Context.add(SpeechTest, handle))
  )
)
