import {
  transcribeInSandbox,
  sandboxSpeechProvider,
  speakInSandbox
} from "@berth/infra/ai/sandbox/SandboxSpeechProvider"
import { readWav, writeWav } from "@berth/infra/ai/sandbox/WavFile"
import { describe, expect, it } from "@effect/vitest"
import { Effect, FastCheck } from "effect"

const someText = FastCheck.string({ unit: "grapheme", minLength: 1, maxLength: 200 })
const heard = (audio: Uint8Array) => transcribeInSandbox(audio)?.text

describe("the sandbox's speech", () => {
  it.prop(
    "is heard again as it was said",
    [someText, FastCheck.double({ min: 0.25, max: 4, noNaN: true })],
    ([text, speed]) => {
      const said = text.replaceAll("\0", "")
      expect(heard(speakInSandbox({ text, speed }).audio)).toBe(said)
    }
  )

  it("is a WAV that is as long as its header says, and can be heard", () => {
    const { audio, contentType } = speakInSandbox({ text: "Good day to you", format: "mp3" })
    const view = new DataView(audio.buffer, audio.byteOffset)
    expect(contentType).toBe("audio/wav")
    expect(view.getUint32(4, true)).toBe(audio.length - 8)
    const samples = new Int16Array(audio.slice(-8_000).buffer)
    expect(Math.max(...samples)).toBeGreaterThan(4_000)
  })

  it("is the same for the same text, and longer for a longer and for a slower one", () => {
    const length = (text: string, speed = 1) => readWav(speakInSandbox({ text, speed }).audio)?.seconds ?? 0
    expect(speakInSandbox({ text: "Hello" })).toEqual(speakInSandbox({ text: "Hello" }))
    expect(speakInSandbox({ text: "Hello there" }).audio).not.toEqual(speakInSandbox({ text: "Hullo thore" }).audio)
    expect(length("Good day to you")).toBeGreaterThan(length("Good"))
    expect(length("Good day", 0.5)).toBeCloseTo(2 * length("Good day"), 1)
  })

  it("says of any other sound what it is", () => {
    const silence = writeWav(new Int16Array(12_000), 8_000, [{ name: "ICMT", text: "Not ours" }])
    expect(heard(silence)).toBe(
      "This is Berth's sandbox, which listens to nothing: this is a sound of 1.5 seconds, as wav."
    )
    expect(heard(new TextEncoder().encode("OggS...."))).toContain("8 bytes, as ogg")
  })

  it.effect("refuses what cannot be played", () =>
    Effect.gen(function* () {
      const whole = speakInSandbox({ text: "Hi" }).audio
      for (const audio of [new TextEncoder().encode("RIFF0000WAVE"), whole.subarray(0, 30)]) {
        const failure = yield* Effect.flip(
          sandboxSpeechProvider.transcribe("speech", { audio, contentType: "audio/wav", filename: "a.wav" })
        )
        expect(failure).toMatchObject({ _tag: "PluginInputInvalid", field: "audio" })
      }
    })
  )

  it.prop(
    "never stumbles over a file that was damaged",
    [FastCheck.nat({ max: 300 }), FastCheck.uint8Array({ maxLength: 40 })],
    ([at, damage]) => {
      const { audio } = speakInSandbox({ text: "Hello" })
      audio.set(damage.subarray(0, Math.max(0, audio.length - at)), at)
      const transcript = transcribeInSandbox(audio)
      expect(transcript === null || transcript.text.length > 0 || damage.length > 0).toBe(true)
    }
  )
})
