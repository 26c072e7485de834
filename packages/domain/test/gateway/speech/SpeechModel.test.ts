import { computeSpeechCost, computeTranscriptionCost } from "@berth/domain/ai/models/MediaPrices"
import {
  validateRecording,
  validateSpeechInput,
  makeAudioFilename,
  maximumSpeechTextLength
} from "@berth/domain/gateway/speech/SpeechLimits"
import {
  resolveSpeechModel,
  parseSpeechModel,
  type SpeechModel,
  formatSpeechModelId,
  type SpeechProviderName,
  selectSpeechRoute,
  speechVendors
} from "@berth/domain/gateway/speech/SpeechModel"
import type { ProviderName } from "@berth/domain/ai/models/Model"
import { describe, assert, it } from "@effect/vitest"
import { Either, FastCheck, Option } from "effect"

const usual: SpeechModel = { provider: "openai", name: "tts-1" }

const names = FastCheck.subarray<SpeechProviderName>([...speechVendors, "sandbox"])
const anyModel = FastCheck.record({
  provider: FastCheck.constantFrom<SpeechProviderName>(...speechVendors, "sandbox"),
  name: FastCheck.stringMatching(/^[a-z0-9][a-z0-9.:/-]{0,30}$/)
})

describe("parseSpeechModel and resolveSpeechModel", () => {
  it.prop("parseSpeechModel parses what formatSpeechModelId formats", [anyModel], ([model]) => {
    assert.deepStrictEqual(parseSpeechModel(formatSpeechModelId(model)), Option.some(model))
  })

  it.each(["", "tts-1", "/tts-1", "openai/", "anthropic/claude", "openai/a b", `openai/${"x".repeat(201)}`])(
    "parseSpeechModel rejects %j",
    (id) => {
      assert.deepStrictEqual(parseSpeechModel(id), Option.none())
    }
  )

  it("resolveSpeechModel returns the default model without a name, and its provider for a bare name", () => {
    assert.deepStrictEqual(resolveSpeechModel(undefined, usual), Either.right(usual))
    assert.deepStrictEqual(
      resolveSpeechModel("tts-1-hd", usual),
      Either.right({ provider: "openai", name: "tts-1-hd" })
    )
    assert.deepStrictEqual(
      resolveSpeechModel("openrouter/openai/tts-1", usual),
      Either.right({ provider: "openrouter", name: "openai/tts-1" })
    )
    assert.containSubset(Either.flip(resolveSpeechModel("nobody/tts-1", usual)), {
      _tag: "Right",
      right: { _tag: "PluginInputInvalid", field: "model" }
    })
  })
})

describe("selectSpeechRoute", () => {
  it.prop(
    "selectSpeechRoute uses the caller's own key first and never selects an unconfigured provider",
    [anyModel, names, FastCheck.subarray<ProviderName>(["openai", "openrouter"]), FastCheck.boolean()],
    ([model, configured, own, isNamed]) => {
      const reach = { configured: new Set(configured), own: new Set(own), isNamed, ownKeysOnly: false }
      Either.match(selectSpeechRoute(model, reach), {
        onRight: ({ model: chosen, own: isOwn }) => {
          assert.strictEqual(isOwn, reach.own.has(model.provider))
          assert.isTrue(isOwn || reach.configured.has(chosen.provider))
          assert.isTrue(chosen.provider === model.provider || chosen.provider === "sandbox")
        },
        onLeft: (refusal) => {
          assert.isFalse(reach.own.has(model.provider) || reach.configured.has(model.provider))
          assert.isFalse(reach.configured.has("sandbox"))
          assert.strictEqual(refusal._tag, isNamed ? "PluginInputInvalid" : "PluginFailed")
          assert.include(refusal.reason, model.provider)
        }
      })
    }
  )
})

describe("The cost of speech", () => {
  it("The cost of speech is computed from characters, from minutes, or as the provider reports it", () => {
    assert.approximately(computeSpeechCost(formatSpeechModelId(usual), "👋".repeat(1_000)), 0.015, 0.5e-10)
    assert.strictEqual(computeSpeechCost("groq/x", "Hi"), 0)
    const whisper = "openai/whisper-1"
    assert.approximately(computeTranscriptionCost(whisper, { seconds: 90, costUsd: null }), 0.009, 0.5e-10)
    assert.strictEqual(computeTranscriptionCost(whisper, { seconds: null, costUsd: null }), 0)
    assert.strictEqual(computeTranscriptionCost(whisper, { seconds: 90, costUsd: 0.5 }), 0.5)
  })
})

describe("Speech limits", () => {
  const say = (text: string, speed?: number) => validateSpeechInput({ text, speed, userId: null })

  it.prop(
    "Speech limits accept any text up to the limit and any speed within the range",
    [
      FastCheck.string({ minLength: 1, maxLength: maximumSpeechTextLength }).filter((text) => text.trim() !== ""),
      FastCheck.double({ min: 0.25, max: 4, noNaN: true })
    ],
    ([text, speed]) => {
      assert.deepStrictEqual(say(text, speed), Either.void)
    }
  )

  it("Speech limits count characters instead of UTF-16 units", () => {
    assert.deepStrictEqual(say("😀".repeat(maximumSpeechTextLength)), Either.void)
    for (const long of ["😀".repeat(maximumSpeechTextLength + 1), `${"x".repeat(maximumSpeechTextLength)}😀`])
      assert.isTrue(Either.isLeft(say(long)))
  })

  it.prop("Speech limits reject a language that is no ISO 639 code", [FastCheck.string()], ([language]) => {
    const checked = validateRecording({ audio: new TextEncoder().encode("OggS"), language })
    assert.strictEqual(Either.isRight(checked), /^[A-Za-z]{2,3}(-[A-Za-z]{2,4})?$/.test(language))
  })

  it.prop(
    "Speech limits give a file name its true extension and remove unsafe characters",
    [FastCheck.string({ unit: "binary" })],
    ([sample]) => {
      const name = makeAudioFilename(sample, { container: "ogg", contentType: "audio/ogg" })
      assert.match(name, /^[\p{L}\p{N} ._-]{1,100}\.ogg$/u)
      assert.notMatch(name, /[/\\"\r\n]/)
    }
  )

  it("Speech limits keep a valid file name", () => {
    const kind = { container: "mp3", contentType: "audio/mpeg" } as const
    assert.strictEqual(makeAudioFilename("C:\\My memos\\Grüße 1.wav", kind), "Grüße 1.mp3")
    assert.strictEqual(makeAudioFilename("", kind), "audio.mp3")
    assert.strictEqual(makeAudioFilename(undefined, kind), "audio.mp3")
  })
})
