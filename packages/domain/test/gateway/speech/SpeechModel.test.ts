import { computeTranscriptionCost, computeSpeechCost } from "@berth/domain/gateway/speech/SpeechCost"
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
import { describe, expect, it } from "@effect/vitest"
import { Either, FastCheck, Option } from "effect"

const usual: SpeechModel = { provider: "openai", name: "tts-1" }

const names = FastCheck.subarray<SpeechProviderName>([...speechVendors, "sandbox"])
const anyModel = FastCheck.record({
  provider: FastCheck.constantFrom<SpeechProviderName>(...speechVendors, "sandbox"),
  name: FastCheck.stringMatching(/^[a-z0-9][a-z0-9.:/-]{0,30}$/)
})

describe("a model of speech", () => {
  it.prop("is read as it is written", [anyModel], ([model]) => {
    expect(parseSpeechModel(formatSpeechModelId(model))).toEqual(Option.some(model))
  })

  it.each(["", "tts-1", "/tts-1", "openai/", "anthropic/claude", "openai/a b", `openai/${"x".repeat(201)}`])(
    "is not %j",
    (id) => {
      expect(parseSpeechModel(id)).toEqual(Option.none())
    }
  )

  it("is the usual one for whoever names none, and of its provider where only a name is given", () => {
    expect(resolveSpeechModel(undefined, usual)).toEqual(Either.right(usual))
    expect(resolveSpeechModel("tts-1-hd", usual)).toEqual(Either.right({ provider: "openai", name: "tts-1-hd" }))
    expect(resolveSpeechModel("openrouter/openai/tts-1", usual)).toEqual(
      Either.right({ provider: "openrouter", name: "openai/tts-1" })
    )
    expect(Either.flip(resolveSpeechModel("nobody/tts-1", usual))).toMatchObject({
      _tag: "Right",
      right: { _tag: "PluginInputInvalid", field: "model" }
    })
  })
})

describe("speechRoute", () => {
  it.prop(
    "pays by the caller's own key where he has one, and never calls who is not there",
    [anyModel, names, FastCheck.subarray<ProviderName>(["openai", "openrouter"]), FastCheck.boolean()],
    ([model, configured, own, isAsked]) => {
      const reach = { configured: new Set(configured), own: new Set(own), isAsked }
      Either.match(selectSpeechRoute(model, reach), {
        onRight: ({ model: chosen, own: isOwn }) => {
          expect(isOwn).toBe(reach.own.has(model.provider))
          expect(isOwn || reach.configured.has(chosen.provider)).toBe(true)
          expect(chosen.provider === model.provider || chosen.provider === "sandbox").toBe(true)
        },
        onLeft: (refusal) => {
          expect(reach.own.has(model.provider) || reach.configured.has(model.provider)).toBe(false)
          expect(reach.configured.has("sandbox")).toBe(false)
          expect(refusal._tag).toBe(isAsked ? "PluginInputInvalid" : "PluginFailed")
          expect(refusal.reason).toContain(model.provider)
        }
      })
    }
  )
})

describe("what speech costs", () => {
  it("goes by characters, by minutes, and by what the provider says", () => {
    expect(computeSpeechCost(usual, "👋".repeat(1_000))).toBeCloseTo(0.015, 10)
    expect(computeSpeechCost({ provider: "groq", name: "x" }, "Hi")).toBe(0)
    const whisper: SpeechModel = { provider: "openai", name: "whisper-1" }
    expect(computeTranscriptionCost(whisper, { seconds: 90, costUsd: null })).toBeCloseTo(0.009, 10)
    expect(computeTranscriptionCost(whisper, { seconds: null, costUsd: null })).toBe(0)
    expect(computeTranscriptionCost(whisper, { seconds: 90, costUsd: 0.5 })).toBe(0.5)
  })
})

describe("the bounds of speech", () => {
  const say = (text: string, speed?: number) => validateSpeechInput({ text, speed, userId: null })

  it.prop(
    "let pass any text up to the limit and any speed between",
    [
      FastCheck.string({ minLength: 1, maxLength: maximumSpeechTextLength }).filter((text) => text.trim() !== ""),
      FastCheck.double({ min: 0.25, max: 4, noNaN: true })
    ],
    ([text, speed]) => {
      expect(say(text, speed)).toEqual(Either.void)
    }
  )

  it.prop("let no language pass that is no code", [FastCheck.string()], ([language]) => {
    const checked = validateRecording({ audio: new TextEncoder().encode("OggS"), language })
    expect(Either.isRight(checked)).toBe(/^[A-Za-z]{2,3}(-[A-Za-z]{2,4})?$/.test(language))
  })

  it.prop(
    "give every name of a file its true extension, and nothing that breaks a header or leaves a folder",
    [FastCheck.string({ unit: "binary" })],
    ([given]) => {
      const name = makeAudioFilename(given, { container: "ogg", contentType: "audio/ogg" })
      expect(name).toMatch(/^[\p{L}\p{N} ._-]{1,100}\.ogg$/u)
      expect(name).not.toMatch(/[/\\"\r\n]/)
    }
  )

  it("keep a good name", () => {
    const kind = { container: "mp3", contentType: "audio/mpeg" } as const
    expect(makeAudioFilename("C:\\My memos\\Grüße 1.wav", kind)).toBe("Grüße 1.mp3")
    expect(makeAudioFilename("", kind)).toBe("audio.mp3")
    expect(makeAudioFilename(undefined, kind)).toBe("audio.mp3")
  })
})
