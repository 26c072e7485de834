import type { ModelCallRecord } from "@berth/domain/ai/calls/ModelUsage"
import { Speech } from "@berth/domain/gateway/speech/Speech"
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Metric, Redacted } from "effect"
import OpenAI, { toFile } from "openai"
import {
  userWithOwnKey,
  localSpeechLayer,
  makeRecording,
  type LocalSpeechOptions,
  makeSpokenText
} from "../support/SpeechFixtures.ts"
import { recordLogs } from "../support/RecordedTelemetry.ts"
import { type AudioBehavior, makeFakeOpenAiAudio } from "../fakes/models/FakeOpenAiAudio.ts"

const sound = new TextEncoder().encode("OggS\0\x02SAID:Good day")

const behaving = (behaviors: ReadonlyArray<AudioBehavior>, options: LocalSpeechOptions = {}) =>
  Effect.gen(function* () {
    const fake = yield* makeFakeOpenAiAudio
    fake.next(...behaviors)
    const { synthesize, transcribe } = yield* Speech.pipe(
      Effect.provide(localSpeechLayer({ platformVendor: fake, ...options }))
    )
    return { fake, speak: synthesize(makeSpokenText("Hi")), transcribe: transcribe(makeRecording(sound)) }
  })

type Trouble = readonly [what: string, behavior: AudioBehavior, reason: RegExp]

const page = (status: number): AudioBehavior => ({
  type: "raw",
  status,
  contentType: "text/html",
  body: "<h1>Hi</h1>"
})
const refused = (status: number, error: unknown): AudioBehavior => ({ type: "refuse", status, error })

const ofBoth: ReadonlyArray<Trouble> = [
  ["a rate limit", refused(429, { message: "Slow down" }), /answered 429: Slow down/],
  [
    "a quota that is used up",
    refused(429, { code: "insufficient_quota" }),
    /the key is invalid, or its account has no permission or credit/
  ],
  [
    "a key that is wrong",
    refused(401, { code: "invalid_api_key", message: "No: sk-audio" }),
    /the key is invalid, or its account/
  ],
  ["a fault of its own", refused(500, { message: "Oops" }), /answered 500: Oops/],
  ["a model that is not there", refused(404, { code: "model_not_found", message: "No" }), /answered 404: No/],
  ["a proxy's page", page(502), /answered 502/],
  ["a page in place of an answer", page(200), /violates the protocol: answered text\/html/],
  ["a connection that breaks", { type: "cut" }, /cannot be reached/],
  ["an answer without an end", { type: "endless" }, /answer over [0-9]+ bytes/],
  ["silence", { type: "hang" }, /no answer within/]
]

const ofSpeaking: ReadonlyArray<Trouble> = [
  [
    "JSON in place of sound",
    { type: "raw", contentType: "application/json", body: "{}" },
    /answered application\/json/
  ],
  ["sound without a sound", { type: "raw", contentType: "audio/mpeg", body: "" }, /empty audio/]
]

const ofListening: ReadonlyArray<Trouble> = [
  ["JSON that is none", { type: "raw", contentType: "application/json", body: `{"text":` }, /malformed transcript/],
  [
    "JSON without a text",
    { type: "raw", contentType: "application/json", body: `{"words":[]}` },
    /malformed transcript/
  ],
  [
    "an error with status 200",
    { type: "raw", contentType: "application/json", body: `{"error":{"message":"Busy"}}` },
    /broke off with an error: Busy/
  ]
]

const fails = (name: "speak" | "transcribe", troubles: ReadonlyArray<Trouble>) =>
  it.scopedLive.each([...troubles])(`Speech.${name} reports %s`, ([, behavior, reason]) =>
    Effect.gen(function* () {
      const oneTry = Duration.millis(behavior.type === "hang" ? 100 : 30_000)
      const speech = yield* behaving([behavior], { times: { attemptTimeout: oneTry } })
      const { layer: logger, lines: logged } = recordLogs()
      const failure = yield* Effect.flip(
        name === "speak" ? Effect.asVoid(speech.speak) : Effect.asVoid(speech.transcribe)
      ).pipe(Effect.provide(logger))
      assert.strictEqual(failure._tag, "PluginFailed")
      assert.match(failure.reason, /^model provider openai [a-z' ]+; try [a-z ]+$|; shorten the conversation/)
      assert.match(logged.join("\n"), reason)
      assert.notInclude(failure.reason + logged.join("\n"), "sk-audio")
      // An early timeout may precede the request.
      if (behavior.type !== "hang") assert.strictEqual(speech.fake.received.length, 1)
    })
  )

describe("a vendor of speech in trouble", () => {
  fails("speak", [...ofBoth, ...ofSpeaking])
  fails("transcribe", [...ofBoth, ...ofListening])

  it.scopedLive("Metrics of Speech measure failed calls, and contain no model name that a caller invented", () =>
    Effect.gen(function* () {
      const fake = yield* makeFakeOpenAiAudio
      fake.next(refused(404, { code: "model_not_found", message: "No" }))
      const { synthesize } = yield* Speech.pipe(Effect.provide(localSpeechLayer({ platformVendor: fake })))
      yield* Effect.flip(synthesize({ ...makeSpokenText("Hi"), model: "openai/made-up-by-a-caller" }))
      const labels = (yield* Metric.snapshot).flatMap(({ metricKey }) => metricKey.tags.map(({ value }) => value))
      assert.include(labels, "openai/other")
      assert.notInclude(labels, "openai/made-up-by-a-caller")
      const measured = (yield* Metric.snapshot).filter(({ metricKey: { name, tags } }) => {
        const keys = tags.filter(
          ({ key, value }) => key === "error" || value === "openai/other" || value === "generate_content"
        )
        return name === "berth_model_call_seconds" && keys.length === 3
      })
      assert.lengthOf(measured, 1)
    })
  )

  it.scopedLive("Speech retries temporary failures, and records one call", () =>
    Effect.gen(function* () {
      const usage: Array<ModelCallRecord> = []
      const busy = refused(503, { message: "Busy" })
      const { fake, transcribe } = yield* behaving([busy, { type: "cut" }], { retries: 2, usage })
      assert.deepStrictEqual(yield* transcribe, {
        text: "Good day",
        ownKey: false,
        answeredBy: { model: "openai/whisper-1", provider: "openai" }
      })
      assert.strictEqual(fake.received.length, 3)
      assert.strictEqual(usage.length, 1)
    })
  )

  it.scopedLive("Speech limits its retries, and does not retry rejections", () =>
    Effect.gen(function* () {
      const busy = refused(503, { message: "Busy" })
      const failing = yield* behaving([busy, busy, busy, busy], { retries: 2 })
      yield* Effect.flip(failing.speak)
      assert.strictEqual(failing.fake.received.length, 3)
      const refusing = yield* behaving([refused(400, { message: "Unknown voice" })], { retries: 2 })
      assert.include(yield* Effect.flip(refusing.speak), { _tag: "PluginInputInvalid", field: "text" })
      assert.strictEqual(refusing.fake.received.length, 1)
    })
  )

  it.scopedLive("Speech skips a failing model after five failures, and returns the time to wait", () =>
    Effect.gen(function* () {
      const usage: Array<ModelCallRecord> = []
      const { speak, fake, transcribe } = yield* behaving(
        Array.from({ length: 5 }, () => page(500)),
        { usage }
      )
      for (let failures = 0; failures < 5; failures += 1) yield* Effect.flip(speak)
      const failure = yield* Effect.flip(speak)
      assert.strictEqual(fake.received.length, 5)
      assert.include(failure, { _tag: "PluginFailed" })
      assert.match(failure.reason, /failed repeatedly; try again later/)
      assert.isTrue("retryAfter" in failure && failure.retryAfter !== undefined)
      assert.deepStrictEqual(yield* transcribe, {
        text: "Good day",
        ownKey: false,
        answeredBy: { model: "openai/whisper-1", provider: "openai" }
      })
      assert.deepStrictEqual(
        usage.map(({ model }) => model),
        ["openai/whisper-1"]
      )
    })
  )
})

describe("a call of speech", () => {
  it.scopedLive("Speech records the user, the cost and the key's owner of a call", () =>
    Effect.gen(function* () {
      const usage: Array<ModelCallRecord> = []
      const fake = yield* makeFakeOpenAiAudio
      const keys = { openai: Redacted.make(`${fake.apiKey}-own`) }
      const speech = yield* Speech.pipe(
        Effect.provide(localSpeechLayer({ platformVendor: fake, ownKeyVendor: fake, keys, usage }))
      )
      yield* speech.synthesize(makeSpokenText("x".repeat(1_000), { userId: userWithOwnKey }))
      yield* speech.transcribe(makeRecording(sound))
      yield* speech.transcribe(makeRecording(sound, { model: "gpt-4o-transcribe" }))
      const call = { agentId: null, provider: "openai", promptTokens: 0, completionTokens: 0 } as const
      assert.deepStrictEqual(usage, [
        { ...call, userId: userWithOwnKey, model: "openai/tts-1", ownKey: true, costUsd: 0.015 },
        { ...call, userId: null, model: "openai/whisper-1", ownKey: false, costUsd: 0.003 },
        { ...call, userId: null, model: "openai/gpt-4o-transcribe", ownKey: false, costUsd: 0 }
      ])
    })
  )

  it.scopedLive("Speech names a rejected own key, and discloses nothing of it", () =>
    Effect.gen(function* () {
      const { layer: logger, lines } = recordLogs()
      const fake = yield* makeFakeOpenAiAudio
      const keys = { openai: Redacted.make("sk-of-the-owner") }
      const failure = yield* Effect.gen(function* () {
        const { synthesize } = yield* Speech
        return yield* Effect.flip(synthesize(makeSpokenText("Hi", { userId: userWithOwnKey })))
      }).pipe(
        Effect.provide(localSpeechLayer({ platformVendor: fake, ownKeyVendor: fake, keys })),
        Effect.provide(logger)
      )
      assert.match(failure.reason, /^your openai key was refused/)
      assert.include(lines.join("\n"), "did not answer")
      assert.notInclude(lines.join("\n") + JSON.stringify(failure), "sk-of-the-owner")
    })
  )

  it.scopedLive("Speech uses the sandbox without keys, and names the missing key when it is disabled", () =>
    Effect.gen(function* () {
      const usage: Array<ModelCallRecord> = []
      const tried = yield* Speech.pipe(Effect.provide(localSpeechLayer({ sandbox: true, usage })))
      const { audio, contentType } = yield* tried.synthesize(
        makeSpokenText("Hi", { format: "mp3", model: "groq/playful" })
      )
      assert.strictEqual(contentType, "audio/wav")
      assert.deepStrictEqual(yield* tried.transcribe(makeRecording(audio)), {
        text: "Hi",
        ownKey: false,
        answeredBy: { model: "sandbox/speech", provider: "sandbox" }
      })
      assert.deepStrictEqual(
        usage.map(({ costUsd, model, provider }) => ({ model, provider, costUsd })),
        Array.from({ length: 2 }, () => ({ model: "sandbox/speech", provider: "sandbox", costUsd: 0 }))
      )
      const off = yield* Speech.pipe(Effect.provide(localSpeechLayer({})))
      const failure = yield* Effect.flip(off.synthesize(makeSpokenText("Hi")))
      assert.include(failure, {
        _tag: "PluginFailed",
        reason: "openai/tts-1 cannot be used: there is no key for openai"
      })
      const requested = yield* Effect.flip(off.transcribe(makeRecording(sound, { model: "groq/whisper-large-v3" })))
      assert.include(requested, { _tag: "PluginInputInvalid", field: "model" })
    })
  )
})

describe("FakeOpenAiAudio", () => {
  it.scopedLive("FakeOpenAiAudio is compatible with OpenAI's client", () =>
    Effect.gen(function* () {
      const fake = yield* makeFakeOpenAiAudio
      const client = new OpenAI({ apiKey: fake.apiKey, baseURL: fake.baseUrl, maxRetries: 0 })
      const speech = yield* Effect.promise(() =>
        client.audio.speech.create({ model: "tts-1", input: "Good day", voice: "alloy", response_format: "flac" })
      )
      assert.strictEqual(speech.headers.get("content-type"), "audio/flac")
      const file = yield* Effect.promise(async () => toFile(await speech.arrayBuffer(), "day.flac"))
      const transcript = yield* Effect.promise(() =>
        client.audio.transcriptions.create({ model: "whisper-1", file, language: "en" })
      )
      assert.strictEqual(transcript.text, "Good day")
      const wrong = new OpenAI({ apiKey: "sk-wrong", baseURL: fake.baseUrl, maxRetries: 0 })
      const refusal = yield* Effect.flip(
        Effect.tryPromise({
          try: () => wrong.audio.transcriptions.create({ model: "whisper-1", file }),
          catch: (error) => error
        })
      )
      assert.instanceOf(refusal, OpenAI.AuthenticationError)
    })
  )
})
