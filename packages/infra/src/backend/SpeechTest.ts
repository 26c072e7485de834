import { type Recording, Speech, type SpeechAnswer, type SpeechInput } from "@berth/domain/gateway/speech/Speech"
import { Context, Effect, Layer } from "effect"
import { makeTestPort, type TestPortHandle } from "../testing/TestPort.ts"

/** Calls and behavior of the speech of `layer`. */
export class SpeechTest extends Context.Tag("@berth/test/SpeechTest")<
  SpeechTest,
  TestPortHandle<SpeechInput | Recording, Speech["Type"]>
>() {}

const answer: SpeechAnswer = { ownKey: false, answeredBy: { model: "sandbox/speech", provider: "sandbox" } }

const defaultBehavior: Speech["Type"] = {
  synthesize: ({ text }) =>
    Effect.succeed({ audio: new TextEncoder().encode(text), contentType: "audio/mpeg", ...answer }),
  transcribe: ({ audio }) => Effect.succeed({ text: `${audio.length} bytes`, ...answer })
}

/** Speech whose audio is the UTF-8 of the text, and whose transcript is the size of the recording. */
export const layer: Layer.Layer<Speech | SpeechTest> = Layer.effectContext(
  Effect.map(makeTestPort<SpeechInput | Recording, Speech["Type"]>(defaultBehavior), ({ handle, run }) =>
    Context.make(Speech, {
      synthesize: (input) => run(input, ({ synthesize }) => synthesize(input)),
      transcribe: (recording) => run(recording, ({ transcribe }) => transcribe(recording))
    }).pipe(Context.add(SpeechTest, handle))
  )
)
