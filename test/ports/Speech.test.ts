import { Speech } from "@berth/domain/gateway/speech/Speech"
import { maximumAudioBytes, maximumSpeechTextLength } from "@berth/domain/gateway/speech/SpeechLimits"
import { UserId } from "@berth/domain/shared/UserId"
import * as SpeechTest from "@berth/infra/backend/SpeechTest"
import * as BackendSpeech from "@berth/infra/backend/BackendSpeech"
import { assert, describe, layer } from "@effect/vitest"
import { Context, Effect, Fiber, Layer, Redacted } from "effect"
import { userWithOwnKey, localSpeechLayer, makeRecording, makeSpokenText } from "../support/SpeechFixtures.ts"
import { type FakeOpenAiAudio, makeFakeOpenAiAudio } from "../fakes/models/FakeOpenAiAudio.ts"
import { waitForCondition } from "../fakes/models/ModelWires.ts"
import * as WebApp from "../support/TestApp.ts"

/** The vendor of a Layer, if any. */
class FakeSpeechVendor extends Context.Tag("@berth/test/ModelVendor")<FakeSpeechVendor, FakeOpenAiAudio | null>() {}

const sandbox = Layer.merge(localSpeechLayer({ sandbox: true }), Layer.succeed(FakeSpeechVendor, null))

const withVendor = <A, E, R>(make: (fake: FakeOpenAiAudio) => Layer.Layer<A, E, R>) =>
  Layer.unwrapScoped(
    Effect.map(makeFakeOpenAiAudio, (fake) => Layer.merge(make(fake), Layer.succeed(FakeSpeechVendor, fake)))
  )

const local = (fake: FakeOpenAiAudio) =>
  localSpeechLayer({
    platformVendor: fake,
    ownKeyVendor: fake,
    keys: { openai: Redacted.make(`${fake.apiKey}-own`) }
  })

/** A client of a backend with the given speech. */
const remote = (speech: Layer.Layer<Speech>) =>
  Layer.unwrapEffect(
    Effect.map(WebApp.TestApp, ({ backendUrl, internalKey }) =>
      BackendSpeech.layer({ backendUrl, internalApiKey: Redacted.make(internalKey) })
    )
  ).pipe(Layer.provide(WebApp.layer({ overrides: speech })))

const layers = {
  "the test Layer": Layer.merge(SpeechTest.layer, Layer.succeed(FakeSpeechVendor, null)),
  "the sandbox": sandbox,
  "a vendor": withVendor(local),
  "the backend": withVendor((fake) => remote(local(fake)))
}

const sound = (size: number) => {
  const bytes = new Uint8Array(size)
  bytes.set(new TextEncoder().encode("RIFF\xff\xff\xff\x7fWAVE").subarray(0, 4))
  bytes.set(new TextEncoder().encode("WAVEfmt "), 8)
  return bytes
}

describe.each(Object.entries(layers))("Speech by %s", (name, speeches) => {
  const isSandbox = name === "the sandbox" || name === "the test Layer"
  const sandboxed = { model: "sandbox/speech", provider: "sandbox" }
  const spokenBy = isSandbox ? sandboxed : { model: "openai/tts-1", provider: "openai" }
  const heardBy = isSandbox ? sandboxed : { model: "openai/whisper-1", provider: "openai" }
  layer(speeches, { excludeTestServices: true })((it) => {
    it.effect("Speech transcribes its own synthesis", () =>
      Effect.gen(function* () {
        const { synthesize, transcribe } = yield* Speech
        for (const text of ["Good day.", "Grüße, 你好 👋\nand more", "x".repeat(maximumSpeechTextLength)]) {
          const { answeredBy, audio, contentType, ownKey } = yield* synthesize(makeSpokenText(text, { format: "wav" }))
          assert.deepStrictEqual([contentType, ownKey], ["audio/wav", false])
          assert.deepStrictEqual(answeredBy, spokenBy)
          assert.deepStrictEqual(yield* transcribe(makeRecording(audio, { language: "en", prompt: "Grüße" })), {
            text,
            ownKey: false,
            answeredBy: heardBy
          })
        }
      })
    )

    it.effect("Speech rejects invalid input and names the field", () =>
      Effect.gen(function* () {
        const { synthesize } = yield* Speech
        const refused = {
          text: [makeSpokenText(""), makeSpokenText(" \n"), makeSpokenText("x".repeat(maximumSpeechTextLength + 1))],
          speed: [
            makeSpokenText("a", { speed: 0.2 }),
            makeSpokenText("a", { speed: 4.1 }),
            makeSpokenText("a", { speed: Number.NaN })
          ],
          model: [makeSpokenText("a", { model: "nobody/tts-1" }), makeSpokenText("a", { model: "openai/" })]
        }
        for (const [field, cases] of Object.entries(refused)) {
          for (const one of cases) {
            const failure = yield* Effect.flip(synthesize(one))
            assert.include(failure, { _tag: "PluginInputInvalid", field }, JSON.stringify(one).slice(0, 100))
          }
        }
      })
    )

    it.effect("Speech rejects recordings that are no audio", () =>
      Effect.gen(function* () {
        const { transcribe } = yield* Speech
        const none = [new Uint8Array(), new TextEncoder().encode("Dear all,"), sound(maximumAudioBytes + 1)]
        for (const audio of none) {
          const failure = yield* Effect.flip(transcribe(makeRecording(audio)))
          assert.include(failure, { _tag: "PluginInputInvalid", field: "audio" })
        }
      })
    )

    if (isSandbox) return

    it.effect("Speech accepts a recording of the maximum size", () =>
      Effect.gen(function* () {
        const { transcribe } = yield* Speech
        assert.deepStrictEqual(yield* transcribe(makeRecording(sound(maximumAudioBytes))), {
          text: "(silence)",
          ownKey: false,
          answeredBy: heardBy
        })
      })
    )

    it.effect("Speech sends options in the vendor's format", () =>
      Effect.gen(function* () {
        const { synthesize, transcribe } = yield* Speech
        const vendor = yield* FakeSpeechVendor
        yield* synthesize(makeSpokenText("Hi", { voice: "nova", format: "opus", speed: 1.5, model: "openai/tts-1-hd" }))
        yield* transcribe(makeRecording(sound(100), { filename: '../My "memo".exe', language: "de", prompt: "Berth" }))
        assert.deepStrictEqual(
          vendor?.received.slice(-2).map(({ fields, path }) => ({ path, fields })),
          [
            {
              path: "/v1/audio/speech",
              fields: { model: "tts-1-hd", input: "Hi", voice: "nova", response_format: "opus", speed: 1.5 }
            },
            {
              path: "/v1/audio/transcriptions",
              fields: {
                model: "whisper-1",
                response_format: "json",
                language: "de",
                prompt: "Berth",
                file: "My memo.wav (audio/wav)"
              }
            }
          ]
        )
      })
    )

    it.effect("Speech uses the caller's own key if there is one, and reports it", () =>
      Effect.gen(function* () {
        const { synthesize, transcribe } = yield* Speech
        const vendor = yield* FakeSpeechVendor
        const { audio, ownKey } = yield* synthesize(makeSpokenText("Mine", { userId: userWithOwnKey }))
        assert.isTrue(ownKey)
        assert.deepStrictEqual(yield* transcribe(makeRecording(audio, { userId: userWithOwnKey })), {
          text: "Mine",
          ownKey: true,
          answeredBy: heardBy
        })
        const shown = `Bearer ${vendor?.apiKey}-own`
        assert.deepStrictEqual(
          vendor?.received.slice(-2).map(({ authorization }) => authorization),
          [shown, shown]
        )
      })
    )

    it.effect("Speech fails without an own key where only own keys may be used, and sends nothing to the vendor", () =>
      Effect.gen(function* () {
        const { synthesize, transcribe } = yield* Speech
        const vendor = yield* FakeSpeechVendor
        const own = { userId: userWithOwnKey, ownKeysOnly: true }
        const { audio, ownKey } = yield* synthesize(makeSpokenText("Mine", own))
        assert.isTrue(ownKey)
        assert.deepStrictEqual(yield* transcribe(makeRecording(audio, own)), {
          text: "Mine",
          ownKey: true,
          answeredBy: heardBy
        })
        const received = vendor?.received.length
        const noKey = { userId: UserId.make("usr_keyless"), ownKeysOnly: true }
        assert.strictEqual((yield* Effect.flip(synthesize(makeSpokenText("Yours", noKey))))._tag, "PluginFailed")
        assert.strictEqual((yield* Effect.flip(transcribe(makeRecording(audio, noKey))))._tag, "PluginFailed")
        assert.strictEqual(vendor?.received.length, received)
      })
    )

    it.effect("Speech returns the reason and the retry delay of a vendor's failure", () =>
      Effect.gen(function* () {
        const { synthesize } = yield* Speech
        const vendor = yield* FakeSpeechVendor
        vendor?.next({ type: "refuse", status: 429, error: { message: "Slow down" }, headers: { "retry-after": "7" } })
        const failure = yield* Effect.flip(synthesize(makeSpokenText("Hi")))
        assert.strictEqual(failure._tag, "PluginFailed")
        assert.include(failure.message, "limits its requests")
        assert.strictEqual(failure._tag === "PluginFailed" && failure.retryAfter?.toString(), "Duration(7s)")
      })
    )

    it.effect("Speech distinguishes rejected input from failures of the vendor", () =>
      Effect.gen(function* () {
        const { transcribe } = yield* Speech
        const vendor = yield* FakeSpeechVendor
        vendor?.next({ type: "refuse", status: 400, error: { message: "The audio file could not be decoded" } })
        const failure = yield* Effect.flip(transcribe(makeRecording(sound(100))))
        assert.include(failure, { _tag: "PluginInputInvalid", field: "audio" })
        assert.include(failure.reason, "could not be decoded")
      })
    )

    it.effect("Speech ends the vendor's call when its caller leaves", () =>
      Effect.gen(function* () {
        const { synthesize } = yield* Speech
        const vendor = yield* FakeSpeechVendor
        if (vendor === null) return
        const [requested, left] = [vendor.received.length, vendor.left()]
        vendor.next({ type: "hang" })
        const fiber = yield* Effect.forkDaemon(synthesize(makeSpokenText("Hi")))
        yield* waitForCondition(() => vendor.received.length > requested)
        yield* Fiber.interrupt(fiber)
        yield* waitForCondition(() => vendor.left() > left)
      })
    )
  })
})
