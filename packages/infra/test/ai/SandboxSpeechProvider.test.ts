import {
  transcribeInSandbox,
  sandboxSpeechProvider,
  speakInSandbox
} from "@berth/infra/ai/sandbox/SandboxSpeechProvider"
import { readWav, writeWav } from "@berth/infra/ai/sandbox/WavFile"
import { describe, assert, it } from "@effect/vitest"
import { Effect, FastCheck } from "effect"

const someText = FastCheck.string({ unit: "grapheme", minLength: 1, maxLength: 200 })
const transcribe = (audio: Uint8Array) => transcribeInSandbox(audio)?.text

describe("Speech of the sandbox", () => {
  it.prop(
    "Speech of the sandbox is transcribed to its text",
    [someText, FastCheck.double({ min: 0.25, max: 4, noNaN: true })],
    ([text, speed]) => {
      const storable = text.replaceAll("\0", "")
      assert.strictEqual(transcribe(speakInSandbox({ text, speed }).audio), storable)
    }
  )

  it("Speech of the sandbox is an audible WAV file whose header states its length", () => {
    const { audio, contentType } = speakInSandbox({ text: "Good day to you", format: "mp3" })
    const view = new DataView(audio.buffer, audio.byteOffset)
    assert.strictEqual(contentType, "audio/wav")
    assert.strictEqual(view.getUint32(4, true), audio.length - 8)
    const samples = new Int16Array(audio.slice(-8_000).buffer)
    assert.isAbove(Math.max(...samples), 4_000)
  })

  it("Speech of the sandbox is deterministic, and longer for longer text and lower speed", () => {
    const length = (text: string, speed = 1) => readWav(speakInSandbox({ text, speed }).audio)?.seconds ?? 0
    assert.deepStrictEqual(speakInSandbox({ text: "Hello" }), speakInSandbox({ text: "Hello" }))
    assert.notDeepEqual(speakInSandbox({ text: "Hello there" }).audio, speakInSandbox({ text: "Hullo thore" }).audio)
    assert.isAbove(length("Good day to you"), length("Good"))
    assert.approximately(length("Good day", 0.5), 2 * length("Good day"), 0.5e-1)
  })

  it("Speech of the sandbox describes any other recording in its transcript", () => {
    const silence = writeWav(new Int16Array(12_000), 8_000, [{ name: "ICMT", text: "Not ours" }])
    assert.strictEqual(
      transcribe(silence),
      "This is Berth's sandbox, which listens to nothing: this is a sound of 1.5 seconds, as wav."
    )
    assert.include(transcribe(new TextEncoder().encode("OggS....")), "8 bytes, as ogg")
  })

  it.effect("Speech of the sandbox rejects input that cannot be decoded", () =>
    Effect.gen(function* () {
      const whole = speakInSandbox({ text: "Hi" }).audio
      for (const audio of [new TextEncoder().encode("RIFF0000WAVE"), whole.subarray(0, 30)]) {
        const failure = yield* Effect.flip(
          sandboxSpeechProvider.transcribe("speech", { audio, contentType: "audio/wav", filename: "a.wav" })
        )
        assert.containSubset(failure, { _tag: "PluginInputInvalid", field: "audio" })
      }
    })
  )

  it.prop(
    "Speech of the sandbox accepts any damaged file without a defect",
    [FastCheck.nat({ max: 300 }), FastCheck.uint8Array({ maxLength: 40 })],
    ([at, damage]) => {
      const { audio } = speakInSandbox({ text: "Hello" })
      audio.set(damage.subarray(0, Math.max(0, audio.length - at)), at)
      const transcript = transcribeInSandbox(audio)
      assert.isTrue(transcript === null || transcript.text.length > 0 || damage.length > 0)
    }
  )
})
