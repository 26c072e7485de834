import { Speech } from "@berth/domain/gateway/Speech"
import { largestAudio, longestText } from "@berth/domain/gateway/speech/SpeechBounds"
import * as SpeechClient from "@berth/infra/backend/SpeechClient"
import { FetchHttpClient } from "@effect/platform"
import { assert, describe, layer } from "@effect/vitest"
import { Context, Effect, Fiber, Layer, Redacted } from "effect"
import { keyed, localSpeech, recorded, spoken } from "../support/Speeches.ts"
import { type AudioStandIn, audioStandIn } from "../support/vendors/AudioStandIn.ts"
import { eventually } from "../support/vendors/Wires.ts"
import * as WebApp from "../support/WebApp.ts"

/** The vendor behind a Layer, where there is one. */
class Vendor extends Context.Tag("@berth/test/Vendor")<Vendor, AudioStandIn | null>() {}

const sandbox = Layer.merge(localSpeech({ sandbox: true }), Layer.succeed(Vendor, null))

const withVendor = <A, E, R>(make: (standIn: AudioStandIn) => Layer.Layer<A, E, R>) =>
  Layer.unwrapScoped(Effect.map(audioStandIn, (standIn) => Layer.merge(make(standIn), Layer.succeed(Vendor, standIn))))

const local = (standIn: AudioStandIn) =>
  localSpeech({ standIn, ownAt: standIn, keys: { openai: Redacted.make(`${standIn.apiKey}-own`) } })

/** A client of a backend that serves what is given. */
const remote = (speech: Layer.Layer<Speech>) =>
  Layer.unwrapEffect(
    Effect.map(WebApp.WebApp, ({ backendUrl, internalKey }) =>
      SpeechClient.layer({ backendUrl, internalApiKey: Redacted.make(internalKey) })
    )
  ).pipe(Layer.provide(FetchHttpClient.layer), Layer.provide(WebApp.layer({ speech })))

const layers = {
  "the sandbox": sandbox,
  "a vendor": withVendor(local),
  "the backend": withVendor((standIn) => remote(local(standIn)))
}

const sound = (size: number) => {
  const bytes = new Uint8Array(size)
  bytes.set(new TextEncoder().encode("RIFF\xff\xff\xff\x7fWAVE").subarray(0, 4))
  bytes.set(new TextEncoder().encode("WAVEfmt "), 8)
  return bytes
}

describe.each(Object.entries(layers))("Speech by %s", (name, speeches) => {
  layer(speeches, { excludeTestServices: true })((it) => {
    it.effect("is heard again as it was said", () =>
      Effect.gen(function* () {
        const { speak, transcribe } = yield* Speech
        for (const text of ["Good day.", "Grüße, 你好 👋\nand more", "x".repeat(longestText)]) {
          const { audio, contentType, ownKey } = yield* speak(spoken(text, { format: "wav" }))
          assert.deepStrictEqual([contentType, ownKey], ["audio/wav", false])
          assert.deepStrictEqual(yield* transcribe(recorded(audio, { language: "en", prompt: "Grüße" })), {
            text,
            ownKey: false
          })
        }
      })
    )

    it.effect("refuses what cannot be spoken, and names the field", () =>
      Effect.gen(function* () {
        const { speak } = yield* Speech
        const refused = {
          text: [spoken(""), spoken(" \n"), spoken("x".repeat(longestText + 1))],
          speed: [spoken("a", { speed: 0.2 }), spoken("a", { speed: 4.1 }), spoken("a", { speed: Number.NaN })],
          model: [spoken("a", { model: "nobody/tts-1" }), spoken("a", { model: "openai/" })]
        }
        for (const [field, cases] of Object.entries(refused)) {
          for (const one of cases) {
            const failure = yield* Effect.flip(speak(one))
            assert.include(failure, { _tag: "PluginInputIsInvalid", field }, JSON.stringify(one).slice(0, 100))
          }
        }
      })
    )

    it.effect("refuses what is no sound", () =>
      Effect.gen(function* () {
        const { transcribe } = yield* Speech
        const none = [new Uint8Array(), new TextEncoder().encode("Dear all,"), sound(largestAudio + 1)]
        for (const audio of none) {
          const failure = yield* Effect.flip(transcribe(recorded(audio)))
          assert.include(failure, { _tag: "PluginInputIsInvalid", field: "audio" })
        }
      })
    )

    if (name === "the sandbox") return

    it.effect("takes a recording of the greatest size", () =>
      Effect.gen(function* () {
        const { transcribe } = yield* Speech
        assert.deepStrictEqual(yield* transcribe(recorded(sound(largestAudio))), { text: "(silence)", ownKey: false })
      })
    )

    it.effect("says what it is asked for in the vendor's words", () =>
      Effect.gen(function* () {
        const { speak, transcribe } = yield* Speech
        const vendor = yield* Vendor
        yield* speak(spoken("Hi", { voice: "nova", format: "opus", speed: 1.5, model: "openai/tts-1-hd" }))
        yield* transcribe(recorded(sound(100), { filename: '../My "memo".exe', language: "de", prompt: "Berth" }))
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

    it.effect("takes the caller's own key where he has one, and says so", () =>
      Effect.gen(function* () {
        const { speak, transcribe } = yield* Speech
        const vendor = yield* Vendor
        const { audio, ownKey } = yield* speak(spoken("Mine", { userId: keyed }))
        assert.isTrue(ownKey)
        assert.deepStrictEqual(yield* transcribe(recorded(audio, { userId: keyed })), { text: "Mine", ownKey: true })
        const shown = `Bearer ${vendor?.apiKey}-own`
        assert.deepStrictEqual(
          vendor?.received.slice(-2).map(({ authorization }) => authorization),
          [shown, shown]
        )
      })
    )

    it.effect("hands on why the vendor failed, and when to come back", () =>
      Effect.gen(function* () {
        const { speak } = yield* Speech
        const vendor = yield* Vendor
        vendor?.next({ type: "refuse", status: 429, error: { message: "Slow down" }, headers: { "retry-after": "7" } })
        const failure = yield* Effect.flip(speak(spoken("Hi")))
        assert.strictEqual(failure._tag, "PluginFailed")
        assert.include(failure.message, "Slow down")
        assert.strictEqual(failure._tag === "PluginFailed" && failure.retryAfter?.toString(), "Duration(7s)")
      })
    )

    it.effect("tells what the vendor will not have from what failed", () =>
      Effect.gen(function* () {
        const { transcribe } = yield* Speech
        const vendor = yield* Vendor
        vendor?.next({ type: "refuse", status: 400, error: { message: "The audio file could not be decoded" } })
        const failure = yield* Effect.flip(transcribe(recorded(sound(100))))
        assert.include(failure, { _tag: "PluginInputIsInvalid", field: "audio" })
        assert.include(failure.reason, "could not be decoded")
      })
    )

    it.effect("ends the vendor's call when its caller leaves", () =>
      Effect.gen(function* () {
        const { speak } = yield* Speech
        const vendor = yield* Vendor
        if (vendor === null) return
        const [asked, left] = [vendor.received.length, vendor.left()]
        vendor.next({ type: "hang" })
        const fiber = yield* Effect.forkDaemon(speak(spoken("Hi")))
        yield* eventually(() => vendor.received.length > asked)
        yield* Fiber.interrupt(fiber)
        yield* eventually(() => vendor.left() > left)
      })
    )
  })
})
