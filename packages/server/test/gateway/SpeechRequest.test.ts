import { maximumAudioBytes, maximumSpeechTextLength } from "@berth/domain/gateway/speech/SpeechLimits"
import { maximumFormBytes, readMultipartForm } from "@berth/server/gateway/MultipartForm"
import { parseContent } from "@berth/server/gateway/CallContent"
import { readSpeechRequest, type SpeechRequest } from "@berth/server/gateway/SpeechRequest"
import { describe, assert, it } from "@effect/vitest"
import { Effect, FastCheck } from "effect"

const json = (value: unknown) => new TextEncoder().encode(JSON.stringify(value))
const base64 = (bytes: Uint8Array) => Buffer.from(bytes).toString("base64")

const ogg = (rest: Uint8Array = new Uint8Array()) => Uint8Array.from([...new TextEncoder().encode("OggS"), ...rest])

const formOf = (
  fields: ReadonlyArray<readonly [string, string]>,
  file?: { readonly name: string; readonly bytes: Uint8Array; readonly type?: string; readonly field?: string }
) =>
  Effect.promise(async () => {
    const form = new FormData()
    for (const [name, value] of fields) form.append(name, value)
    if (file !== undefined) {
      const blob = new Blob([new Uint8Array(file.bytes)], { type: file.type ?? "audio/ogg" })
      form.append(file.field ?? "file", blob, file.name)
    }
    const encoded = new Response(form)
    return { type: encoded.headers.get("content-type") ?? "", body: new Uint8Array(await encoded.arrayBuffer()) }
  })

const readBytes = (plugin: "tts" | "stt", type: string, body: Uint8Array) =>
  Effect.flatMap(parseContent(type, body), (content) => readSpeechRequest(plugin, content))
const read = (plugin: "tts" | "stt", value: unknown) => readBytes(plugin, "application/json", json(value))
const readStt = ({ body, type }: { readonly type: string; readonly body: Uint8Array }) => readBytes("stt", type, body)

const named = (failure: { readonly _tag: string }) =>
  "issues" in failure && Array.isArray(failure.issues)
    ? [...new Set(failure.issues.map((issue: { readonly path: ReadonlyArray<string> }) => issue.path.join(".")))]
    : "field" in failure
      ? [failure.field]
      : failure._tag

describe("readSpeechRequest for tts", () => {
  it.effect("readSpeechRequest for tts reads JSON with our field names or OpenAI's", () =>
    Effect.gen(function* () {
      const requested = { text: "Hi", voice: "nova", format: "opus", speed: 1.5, model: "openai/tts-1-hd" }
      assert.deepStrictEqual(yield* read("tts", { plugin: "tts", ...requested }), { plugin: "tts", spoken: requested })
      const theirs = { input: "Hi", voice: "nova", response_format: "opus", speed: 1.5, model: "openai/tts-1-hd" }
      assert.deepStrictEqual(yield* read("tts", theirs), { plugin: "tts", spoken: requested })
      const unset = { voice: undefined, format: undefined, speed: undefined, model: undefined }
      assert.deepStrictEqual(yield* read("tts", { text: "Hi", voice: null }), {
        plugin: "tts",
        spoken: { text: "Hi", ...unset }
      })
    })
  )

  it.effect("readSpeechRequest for tts counts characters instead of UTF-16 units", () =>
    Effect.gen(function* () {
      const text = "😀".repeat(maximumSpeechTextLength)
      assert.strictEqual((yield* read("tts", { text })).plugin, "tts")
    })
  )

  it.effect("readSpeechRequest for tts names every invalid field", () =>
    Effect.gen(function* () {
      const wrong: ReadonlyArray<readonly [unknown, unknown]> = [
        [{}, ["text"]],
        [{ text: "" }, ["text"]],
        [{ text: "x".repeat(maximumSpeechTextLength + 1) }, ["text"]],
        [{ text: "😀".repeat(maximumSpeechTextLength + 1) }, ["text"]],
        [{ text: "a", input: "b" }, ["input"]],
        [{ text: "a", voice: "me", format: "midi", speed: 5 }, ["voice", "format", "speed"]],
        [{ text: "a", speed: "fast" }, ["speed"]],
        [{ text: 7 }, ["text"]]
      ]
      for (const [body, fields] of wrong) {
        const failure = yield* Effect.flip(read("tts", body))
        assert.deepStrictEqual(named(failure), fields, JSON.stringify(body).slice(0, 80))
      }
    })
  )
})

describe("readSpeechRequest for stt", () => {
  it.effect.prop(
    "readSpeechRequest for stt reads JSON and forms alike",
    [FastCheck.uint8Array({ maxLength: 500 })],
    ([rest]) =>
      Effect.gen(function* () {
        const audio = ogg(rest)
        const about = { language: "de", prompt: "Grüße, “Berth”", model: "openai/whisper-1" }
        const expected: SpeechRequest = {
          plugin: "stt",
          recording: { audio, contentType: "audio/ogg", filename: "memo.ogg", ...about }
        }
        const asJson = { audio: base64(audio), mimeType: "audio/mpeg", filename: "memo.mp3", ...about }
        assert.deepStrictEqual(yield* read("stt", asJson), expected)
        assert.deepStrictEqual(
          yield* read("stt", { ...asJson, audio: `data:audio/ogg;base64,${base64(audio)}` }),
          expected
        )
        const form = yield* formOf(Object.entries(about), { name: "memo.mp3", bytes: audio })
        assert.deepStrictEqual(yield* readStt(form), expected)
      }),
    { fastCheck: { numRuns: 8 } }
  )

  it.effect("readSpeechRequest for stt ignores unknown and empty fields", () =>
    Effect.gen(function* () {
      const fields = [
        ["plugin", "stt"],
        ["language", ""],
        ["temperature", "0"]
      ] as const
      const form = yield* formOf(fields, { name: "a.ogg", bytes: ogg() })
      assert.containSubset(yield* readStt(form), { recording: { filename: "a.ogg", language: undefined } })
    })
  )

  it.effect("readSpeechRequest for stt rejects a file that is no audio", () =>
    Effect.gen(function* () {
      const text = new TextEncoder().encode("Dear all,")
      const forms = [
        yield* formOf([]),
        yield* formOf([["file", "OggS"]]),
        yield* formOf([], { name: "a.ogg", bytes: ogg(), field: "audio" }),
        yield* formOf([], { name: "a.ogg", bytes: text }),
        yield* formOf([], { name: "a.ogg", bytes: new Uint8Array() })
      ]
      for (const form of forms) assert.deepStrictEqual(named(yield* Effect.flip(readStt(form))), ["file"])
      assert.deepStrictEqual(named(yield* Effect.flip(read("stt", {}))), ["audio"])
      assert.deepStrictEqual(named(yield* Effect.flip(read("stt", { audio: "$$$" }))), ["audio"])
      assert.deepStrictEqual(named(yield* Effect.flip(read("stt", { audio: base64(text) }))), ["audio"])
      const language = yield* formOf([["language", "English"]], { name: "a.ogg", bytes: ogg() })
      assert.deepStrictEqual(named(yield* Effect.flip(readStt(language))), ["language"])
    })
  )

  it.effect("readSpeechRequest for stt does not quote the input in its failure", () =>
    Effect.gen(function* () {
      const failure = yield* Effect.flip(read("stt", { audio: "data:audio/wav,hunter2" }))
      assert.notInclude(JSON.stringify(failure), "hunter2")
    })
  )

  it.effect("readSpeechRequest for stt accepts recordings up to OpenAI's limit", () =>
    Effect.gen(function* () {
      const whole = ogg()
      const largest = new Uint8Array(maximumAudioBytes)
      largest.set(whole)
      const form = yield* formOf([["prompt", "x".repeat(2_000)]], { name: "a.ogg", bytes: largest })
      assert.isAtMost(form.body.length, maximumFormBytes)
      assert.containSubset(yield* readStt(form), { recording: { filename: "a.ogg" } })
      const larger = new Uint8Array(maximumAudioBytes + 1)
      larger.set(whole)
      const tooLarge = yield* formOf([], { name: "a.ogg", bytes: larger })
      assert.containSubset(yield* Effect.flip(readStt(tooLarge)), { _tag: "BodyTooLarge", limit: maximumAudioBytes })
      const far = { type: tooLarge.type, body: new Uint8Array(maximumFormBytes + 1) }
      assert.containSubset(yield* Effect.flip(readStt(far)), { _tag: "BodyTooLarge" })
    })
  )
})

const pieces = [
  "--b",
  "--b--",
  "\r\n",
  "\r\n\r\n",
  "OggS",
  `content-disposition: form-data; name="file"; filename="a.ogg"`,
  `content-disposition: form-data; name="x"`,
  "content-type: audio/ogg",
  "--",
  "\r\n--b\r\n"
]

describe("readMultipartForm", () => {
  const malformed = { _tag: "BodyMalformed" }

  it.effect("readMultipartForm rejects a truncated form", () =>
    Effect.gen(function* () {
      const { body, type } = yield* formOf([["model", "m"]], { name: "a.ogg", bytes: ogg() })
      // The last bytes are the line break after the end.
      for (let length = 0; length < body.length - 4; length += 1) {
        assert.containSubset(
          yield* Effect.flip(readMultipartForm(type, body.subarray(0, length))),
          malformed,
          `${length}`
        )
      }
    })
  )

  it.effect("readMultipartForm rejects a body that is no form", () =>
    Effect.gen(function* () {
      const { body } = yield* formOf([["model", "m"]])
      for (const type of [
        "multipart/form-data",
        "multipart/form-data; boundary=other",
        "multipart/form-data; boundary="
      ]) {
        assert.containSubset(yield* Effect.flip(readMultipartForm(type, body)), malformed, type)
      }
    })
  )

  it.effect("readMultipartForm rejects duplicate, oversized and too many fields", () =>
    Effect.gen(function* () {
      const twice = yield* formOf([
        ["model", "a"],
        ["model", "b"]
      ])
      const long = yield* formOf([["prompt", "x".repeat(17 * 1024)]])
      const many = yield* formOf(Array.from({ length: 21 }, (_, index) => [`f${index}`, "x"] as const))
      for (const { body, type } of [twice, long, many]) {
        assert.containSubset(yield* Effect.flip(readMultipartForm(type, body)), malformed)
      }
    })
  )

  it.effect("readMultipartForm rejects a name with an invalid encoding", () =>
    Effect.gen(function* () {
      const body = new TextEncoder().encode(
        `--b\r\ncontent-disposition: form-data; name="file"; filename*=utf-8''%E0%A4%A\r\n\r\nOggS\r\n--b--\r\n`
      )
      assert.containSubset(yield* Effect.flip(readMultipartForm("multipart/form-data; boundary=b", body)), malformed)
    })
  )

  it.effect.prop(
    "readMultipartForm keeps any bytes unchanged",
    [FastCheck.uint8Array({ maxLength: 200 })],
    ([bytes]) =>
      Effect.gen(function* () {
        const { body, type } = yield* formOf([], { name: "a", bytes })
        const { files } = yield* readMultipartForm(type, body)
        assert.deepStrictEqual(files.get("file")?.bytes, bytes)
      }),
    { fastCheck: { numRuns: 10 } }
  )

  it.effect.prop(
    "readMultipartForm ends for any input",
    [FastCheck.array(FastCheck.constantFrom(...pieces), { maxLength: 14 }), FastCheck.boolean()],
    ([fields, ends]) =>
      Effect.gen(function* () {
        const text = fields.join("") + (ends ? "\r\n--b--\r\n" : "")
        const body = new TextEncoder().encode(text)
        const read = yield* Effect.either(readMultipartForm("multipart/form-data; boundary=b", body))
        if (!text.includes("--b--")) assert.containSubset(read, { _tag: "Left" })
      }),
    { fastCheck: { numRuns: 80 } }
  )
})
