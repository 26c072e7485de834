import { ScriptedModels } from "../support/ScriptedModels.ts"
import { assert, layer } from "@effect/vitest"
import { Array, Effect, Fiber } from "effect"
import { eventually } from "../conformance/Eventually.ts"
import type { HttpAnswer } from "../support/HttpCall.ts"
import { ScriptedPlugins } from "../support/ScriptedPlugins.ts"
import * as App from "../support/WebApp.ts"
import { assertError } from "./Answers.ts"
import { eventsOf } from "./Events.ts"
import { answerOf, gateway, hello, saying, unitsOf, whileWaiting } from "./Paying.ts"
import * as s from "./Shapes.ts"

const lastAsked = Effect.flatMap(ScriptedPlugins, ({ asked }) => Effect.map(asked, (all) => ({ ...all.at(-1) })))

/** A form as `curl -F` sends it. */
const form = (parts: Readonly<Record<string, string | Blob>>) =>
  Effect.promise(async () => {
    const data = new FormData()
    for (const [name, value] of Object.entries(parts))
      if (typeof value === "string") data.append(name, value)
      else data.append(name, value, "memo.mp3")
    const request = new Request("http://x/", { method: "POST", body: data })
    return {
      body: new Uint8Array(await request.arrayBuffer()),
      headers: { "content-type": request.headers.get("content-type") ?? "" }
    }
  })

const soundBytes = (bytes: number) => {
  const sound = Buffer.alloc(bytes, 7)
  sound.write("ID3")
  return sound
}
const sound = (bytes: number) => new Blob([soundBytes(bytes)], { type: "audio/mpeg" })
const recorded = (text: string) => (answer: HttpAnswer) =>
  s.assertShape(answer.body, {
    plugin: s.is("stt"),
    message: s.is(text),
    timestamp: s.timestamp,
    payment: { method: s.is("card"), receipt: s.is(null) }
  })

layer(App.layer(), { excludeTestServices: true })("The gateway's plugins", (it) => {
  it.effect("are named by the header before the body", () =>
    Effect.gen(function* () {
      const as = yield* App.newcomer("pro")
      const json = { ...hello, plugin: "generate-text", agentId: "agt_1" }
      const answer = yield* gateway({ as, json, headers: { "x-plugin-id": "agent" } })
      assert.strictEqual(answer.headers["x-plugin-id"], "agent")
      assert.deepInclude(yield* answerOf(answer), { plugin: "agent", message: "It is done." })
      assert.deepInclude(yield* lastAsked, { agentId: "agt_1", messages: hello.messages })
    })
  )

  it.effect("get text with images as it was written", () =>
    Effect.gen(function* () {
      const { during } = yield* ScriptedModels
      const as = yield* App.newcomer("pro")
      const content = [
        { type: "text", text: "What is this?" },
        { type: "image_url", image_url: { url: "https://example.com/cat.png" } }
      ]
      let seen: unknown
      const answer = yield* during({
        chat: (_model, messages) => {
          seen = messages
          return saying("A cat")
        }
      })(gateway({ as, json: { model: "gpt-4", messages: [{ role: "user", content }] } }))
      assert.strictEqual(answer.status, 200, answer.text)
      assert.deepStrictEqual(seen, [
        {
          role: "user",
          content: "What is this?",
          parts: [
            { type: "text", text: "What is this?" },
            { type: "image", source: { type: "url", url: "https://example.com/cat.png" } }
          ]
        }
      ])
    })
  )

  it.effect("speak, and say what type the sound has", () =>
    Effect.gen(function* () {
      const as = yield* App.newcomer("pro")
      const json = { plugin: "tts", text: "Grüße", voice: "alloy", format: "mp3", speed: 1.5, model: "openai/tts-1" }
      const answer = yield* gateway({ as, json })
      assert.strictEqual(answer.headers["x-audio-content-type"], "audio/mpeg")
      const { message } = yield* answerOf(answer)
      assert.strictEqual(Buffer.from(message, "base64").toString("utf8"), "Grüße")
      const { plugin: _, ...spoken } = json
      assert.deepStrictEqual(yield* lastAsked, { ...spoken, userId: as.user.id })
      const headers = { "idempotency-key": "spoken" }
      const said = [yield* gateway({ as, json, headers }), yield* gateway({ as, json, headers })]
      assert.deepStrictEqual(
        said.map((one) => one.headers["x-audio-content-type"]),
        ["audio/mpeg", "audio/mpeg"]
      )
    })
  )

  it.effect("hear what is in a form and what is in JSON", () =>
    Effect.gen(function* () {
      const as = yield* App.newcomer("pro")
      const sent = yield* form({ plugin: "stt", file: sound(2_000_000), language: "de" })
      recorded("2000000 bytes")(yield* gateway({ as, ...sent }))
      const heard = yield* lastAsked
      assert.deepInclude(heard, {
        contentType: "audio/mpeg",
        filename: "memo.mp3",
        language: "de",
        userId: as.user.id
      })
      const base64 = soundBytes(3_000_000).toString("base64")
      recorded("3000000 bytes")(yield* gateway({ as, json: { plugin: "stt", audio: base64, filename: "a.wav" } }))
      // What it is, its bytes say.
      assert.deepInclude(yield* lastAsked, { filename: "a.mp3", contentType: "audio/mpeg" })
      const url = `data:audio/webm;codecs=opus;base64,${base64.slice(0, 400)}`
      recorded("300 bytes")(yield* gateway({ as, json: { audio: url }, headers: { "x-plugin-id": "stt" } }))
      assert.deepInclude(yield* lastAsked, { contentType: "audio/mpeg" })
    })
  )

  it.effect("take a form again under its key, whatever its boundary is", () =>
    Effect.gen(function* () {
      const as = yield* App.newcomer("pro")
      const tries = [sound(100), sound(100), sound(101)].map((file) => form({ plugin: "stt", file }))
      const answers = yield* Effect.forEach(tries, (sent) =>
        Effect.flatMap(sent, ({ body, headers }) =>
          gateway({ as, body, headers: { ...headers, "idempotency-key": "form" } })
        )
      )
      assert.deepStrictEqual(
        answers.map(({ status }) => status),
        [200, 200, 422]
      )
      assert.strictEqual(yield* unitsOf(as), 2)
    })
  )

  it.effect("hear many large recordings at once, a few after another, if their size is said beforehand", () =>
    Effect.gen(function* () {
      const as = yield* App.newcomer("pro")
      const sent = yield* form({ plugin: "stt", file: sound(1_500_000) })
      const answers = yield* Effect.all(
        Array.makeBy(20, () => gateway({ as, ...sent })),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual([...new Set(answers.map(({ status }) => status))], [200])
      const [half, rest] = [sent.body.subarray(0, 1_000_000), sent.body.subarray(1_000_000)]
      const unannounced = yield* gateway({ as, headers: sent.headers, body: [half, rest] })
      assertError(unannounced, { status: 413, code: "body_too_large" })
    })
  )

  it.effect("refuse a form that is none, or not for them", () =>
    Effect.gen(function* () {
      const as = yield* App.newcomer("pro")
      const broken = yield* gateway({
        as,
        body: "hello",
        headers: { "content-type": "multipart/form-data; boundary=x", "x-plugin-id": "stt" }
      })
      assertError(broken, { status: 400, code: "malformed_body" })
      const withoutFile = yield* form({ plugin: "stt", file: "text" })
      assertError(yield* gateway({ as, ...withoutFile }), { status: 400, code: "invalid_request" })
      const badField = yield* form({ plugin: "stt", file: sound(3), language: "german" })
      const refused = yield* gateway({ as, ...badField })
      assertError(refused, { status: 400, code: "invalid_request" })
      assert.include(refused.text, '"path":"language"')
      const toText = yield* form({ file: sound(3) })
      assertError(yield* gateway({ as, ...toText }), { status: 415, code: "unsupported_media_type" })
      const large = yield* form({ plugin: "stt", file: sound(25 * 1024 * 1024 + 1) })
      assertError(yield* gateway({ as, ...large }), { status: 413, code: "body_too_large" })
      assert.strictEqual(yield* unitsOf(as), 0)
    })
  )
})

layer(App.layer({ modelsAre: "remote" }), { excludeTestServices: true })(
  "The gateway, with the AI layer in another process",
  (it) => {
    it.effect("answers as it does in one process", () =>
      Effect.gen(function* () {
        const as = yield* App.newcomer("pro")
        const whole = yield* gateway({ as })
        assert.strictEqual((yield* answerOf(whole)).message, "Good day.")
        assert.strictEqual(whole.headers["x-berth-provider"], "openai")
        const pieces = yield* gateway({ as, headers: { accept: "text/event-stream" } })
        assert.deepStrictEqual(
          eventsOf(pieces).map(({ event }) => event),
          ["delta", "delta", "done"]
        )
        assert.strictEqual(yield* unitsOf(as), 2)
      })
    )

    it.effect("leaves the model when its client leaves", () =>
      Effect.gen(function* () {
        const as = yield* App.newcomer("pro")
        yield* whileWaiting((model) =>
          Effect.gen(function* () {
            const call = yield* Effect.fork(gateway({ as, headers: { accept: "text/event-stream" } }))
            yield* model.begun
            yield* Fiber.interrupt(call)
            yield* model.left
          })
        )
        yield* eventually(unitsOf(as), (used) => used === 1, { what: "what was used to be booked" })
      })
    )
  }
)
