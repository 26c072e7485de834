import { modelAnswersPath } from "@berth/api/gateway/plugins/ModelAnswersApi"
import { ModelProvidersTest } from "@berth/infra/ai/ModelProvidersTest"
import { countedResponseBytes, maximumStoredBytes } from "@berth/domain/limits/IdempotencyKeys"
import { digestPrincipal } from "@berth/infra/postgres/limits/PostgresIdempotencyKeys"
import { assert, layer } from "@effect/vitest"
import { Array, Effect, Fiber, Predicate } from "effect"
import { eventually } from "../support/Eventually.ts"
import type { HttpCallResponse } from "../support/HttpCall.ts"
import { fakeAudioHeader, SpeechTest } from "@berth/infra/backend/SpeechTest"
import { FakeAgentTasks } from "../fakes/FakeAgentTasks.ts"
import { sql } from "../support/Sql.ts"
import * as App from "../support/TestApp.ts"
import { withVision } from "./AttachmentFixtures.ts"
import { assertError } from "./ErrorAssertions.ts"
import { parseEvents } from "./ServerSentEvents.ts"
import {
  decodeGatewayAnswer,
  gatewayCall,
  helloRequest,
  machinePaymentHeaders,
  textAnswer,
  readUsedUnits,
  withPendingAnswer
} from "./GatewayPayments.ts"
import * as s from "./ResponseShapes.ts"

const lastSpeechCall = Effect.flatMap(SpeechTest, ({ calls }) => Effect.map(calls, (all) => ({ ...all.at(-1) })))

const openingFields = ["id", "model", "provider", "ownKey", "attempts", "overheadMs"]

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
const recorded = (text: string) => (answer: HttpCallResponse) =>
  s.assertShape(answer.body, {
    plugin: s.equalTo("stt"),
    message: s.equalTo(text),
    timestamp: s.recentTimestamp,
    payment: { method: s.equalTo("card"), receipt: s.equalTo(null) }
  })

layer(App.shared, { excludeTestServices: true })("The gateway's plugins", (it) => {
  it.effect("The gateway's plugins are named by the header before the body", () =>
    Effect.gen(function* () {
      const as = yield* App.signInNewUser("pro")
      const json = { ...helloRequest, plugin: "generate-text", agentId: "agt_1" }
      const answer = yield* gatewayCall({ as, json, headers: { "x-plugin-id": "agent" } })
      assert.strictEqual(answer.headers["x-plugin-id"], "agent")
      assert.deepInclude(yield* decodeGatewayAnswer(answer), { plugin: "agent", message: "It is done." })
      const { calls } = yield* FakeAgentTasks
      assert.containSubset((yield* calls).at(-1), { agentId: "agt_1", messages: helloRequest.messages })
    })
  )

  it.effect("The gateway's plugins get text with images in its order", () =>
    Effect.gen(function* () {
      const { withBehavior } = yield* ModelProvidersTest
      const as = yield* App.signInNewUser("pro")
      const content = [
        { type: "text", text: "What is this?" },
        { type: "image_url", image_url: { url: "https://example.com/cat.png" } }
      ]
      let seen: unknown
      const answer = yield* withBehavior({
        chat: (_model, messages) => {
          seen = messages
          return textAnswer("A cat")
        }
      })(gatewayCall({ as, json: { model: "gpt-4", messages: [{ role: "user", content }] } }).pipe(withVision))
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

  it.effect("The gateway's plugins take an empty X-Plugin-Id as absent", () =>
    Effect.gen(function* () {
      const as = yield* App.signInNewUser("pro")
      const headers = { "x-plugin-id": "" }
      for (const [json, plugin] of [
        [helloRequest, "generate-text"],
        [{ plugin: "tts", text: "Hello" }, "tts"]
      ] as const) {
        const answer = yield* gatewayCall({ as, json, headers })
        assert.deepStrictEqual([answer.status, answer.headers["x-plugin-id"]], [200, plugin], answer.text)
      }
    })
  )

  it.effect(
    "The gateway's plugins refuse an image for a model without image input before they charge or require a payment",
    () =>
      Effect.gen(function* () {
        const as = yield* App.signInNewUser("pro")
        const content = [{ type: "image_url", image_url: { url: "https://example.com/cat.png" } }]
        const json = { model: "gpt-4", messages: [{ role: "user", content }] }
        for (const call of [
          { as },
          { as, headers: { accept: "text/event-stream" } },
          { headers: machinePaymentHeaders }
        ]) {
          const refused = yield* gatewayCall({ json, ...call })
          assertError(refused, { status: 400, code: "images_not_supported" })
          assert.strictEqual(refused.body["model"], "openai/gpt-4")
        }
        assert.strictEqual(yield* readUsedUnits(as), 0)
      })
  )

  it.effect("The gateway's plugins synthesize speech and return its content type", () =>
    Effect.gen(function* () {
      const as = yield* App.signInNewUser("pro")
      const json = { plugin: "tts", text: "Grüße", voice: "alloy", format: "mp3", speed: 1.5, model: "openai/tts-1" }
      const answer = yield* gatewayCall({ as, json })
      assert.strictEqual(answer.headers["x-audio-content-type"], "audio/mpeg")
      const { message } = yield* decodeGatewayAnswer(answer)
      assert.strictEqual(Buffer.from(message, "base64").toString("utf8"), `${fakeAudioHeader}Grüße`)
      const { plugin: _, ...spoken } = json
      assert.deepStrictEqual(yield* lastSpeechCall, { ...spoken, userId: as.user.id, ownKeysOnly: false })
      const headers = { "idempotency-key": "spoken" }
      const answers = [yield* gatewayCall({ as, json, headers }), yield* gatewayCall({ as, json, headers })]
      assert.deepStrictEqual(
        answers.map((one) => one.headers["x-audio-content-type"]),
        ["audio/mpeg", "audio/mpeg"]
      )
    })
  )

  it.effect("The gateway's plugins speak the last message of a body with messages", () =>
    Effect.gen(function* () {
      const as = yield* App.signInNewUser("pro")
      const messages = [
        { role: "assistant", content: "What do you want?" },
        { role: "user", content: "Grüße" }
      ]
      const answer = yield* gatewayCall({ as, json: { plugin: "tts", messages } })
      const { message } = yield* decodeGatewayAnswer(answer)
      assert.strictEqual(Buffer.from(message, "base64").toString("utf8"), `${fakeAudioHeader}Grüße`)
      const twice = yield* gatewayCall({ as, json: { plugin: "tts", text: "Grüße", messages } })
      assertError(twice, { status: 400, code: "invalid_request" })
      const unpaid = yield* gatewayCall({ json: { plugin: "tts", messages }, headers: machinePaymentHeaders })
      assert.strictEqual(unpaid.status, 402)
    })
  )

  it.effect("The gateway's plugins read recordings from forms and from JSON", () =>
    Effect.gen(function* () {
      const as = yield* App.signInNewUser("pro")
      const sent = yield* form({ plugin: "stt", file: sound(2_000_000), language: "de" })
      recorded("2000000 bytes")(yield* gatewayCall({ as, ...sent }))
      const speechCall = yield* lastSpeechCall
      assert.deepInclude(speechCall, {
        contentType: "audio/mpeg",
        filename: "memo.mp3",
        language: "de",
        userId: as.user.id
      })
      const base64 = soundBytes(3_000_000).toString("base64")
      recorded("3000000 bytes")(yield* gatewayCall({ as, json: { plugin: "stt", audio: base64, filename: "a.wav" } }))
      // The bytes determine the container.
      assert.deepInclude(yield* lastSpeechCall, { filename: "a.mp3", contentType: "audio/mpeg" })
      const url = `data:audio/webm;codecs=opus;base64,${base64.slice(0, 400)}`
      recorded("300 bytes")(yield* gatewayCall({ as, json: { audio: url }, headers: { "x-plugin-id": "stt" } }))
      assert.deepInclude(yield* lastSpeechCall, { contentType: "audio/mpeg" })
    })
  )

  it.effect("The gateway's plugins recognize a repeated form under its key with any boundary", () =>
    Effect.gen(function* () {
      const as = yield* App.signInNewUser("pro")
      const tries = [sound(100), sound(100), sound(101)].map((file) => form({ plugin: "stt", file }))
      const answers = yield* Effect.forEach(tries, (sent) =>
        Effect.flatMap(sent, ({ body, headers }) =>
          gatewayCall({ as, body, headers: { ...headers, "idempotency-key": "form" } })
        )
      )
      assert.deepStrictEqual(
        answers.map(({ status }) => status),
        [200, 200, 422]
      )
      assert.strictEqual(yield* readUsedUnits(as), 2)
    })
  )

  it.effect(
    "The gateway's plugins run once per key; a repeated answer that is not stored is 409 response_not_kept",
    () =>
      Effect.gen(function* () {
        const { withBehavior } = yield* SpeechTest
        const as = yield* App.signInNewUser("pro")
        const speak = (bytes: number) => () =>
          Effect.succeed({
            audio: new Uint8Array(bytes),
            contentType: "audio/mpeg",
            ownKey: false,
            answeredBy: { model: "openai/tts-1", provider: "openai" }
          })
        const callTwice = (bytes: number) =>
          Effect.replicateEffect(
            gatewayCall({
              as,
              json: { plugin: "tts", text: "Hello" },
              headers: { "idempotency-key": `answer of ${bytes} bytes` }
            }),
            2
          ).pipe(withBehavior({ synthesize: speak(bytes) }))
        const kept = yield* callTwice(600_000)
        assert.deepStrictEqual(
          kept.map(({ headers, status }) => [status, headers["idempotent-replayed"]]),
          [
            [200, undefined],
            [200, "true"]
          ]
        )
        const [first, repeat, ...more] = yield* callTwice(900_000)
        assert.strictEqual(first?.status, 200)
        assert.lengthOf(more, 0)
        assert.isDefined(repeat)
        if (repeat !== undefined) assertError(repeat, { status: 409, code: "response_not_kept" })
        assert.strictEqual(repeat?.headers["idempotent-replayed"], undefined)
        assert.strictEqual(yield* readUsedUnits(as), 6)
        yield* sql`
        update idempotency_keys set response_sealed = repeat('x', ${maximumStoredBytes})
        where principal_hash = ${digestPrincipal(as.user.id)} and octet_length(response_sealed) > ${countedResponseBytes}`
        const [, unstored] = yield* callTwice(countedResponseBytes)
        if (unstored === undefined) return assert.fail("no second answer")
        assertError(unstored, { status: 409, code: "response_not_kept" })
        const [, small] = yield* callTwice(1_000)
        assert.strictEqual(small?.headers["idempotent-replayed"], "true")
        assert.strictEqual(yield* readUsedUnits(as), 12)
      })
  )

  it.effect("The gateway's plugins accept many large recordings concurrently with a Content-Length", () =>
    Effect.gen(function* () {
      const as = yield* App.signInNewUser("pro")
      const sent = yield* form({ plugin: "stt", file: sound(1_500_000) })
      const answers = yield* Effect.all(
        Array.makeBy(20, () => gatewayCall({ as, ...sent })),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual([...new Set(answers.map(({ status }) => status))], [200])
      const [half, rest] = [sent.body.subarray(0, 1_000_000), sent.body.subarray(1_000_000)]
      const unannounced = yield* gatewayCall({ as, headers: sent.headers, body: [half, rest] })
      assertError(unannounced, { status: 413, code: "body_too_large" })
    })
  )

  it.effect("The gateway's plugins reject malformed and unexpected forms", () =>
    Effect.gen(function* () {
      const as = yield* App.signInNewUser("pro")
      const broken = yield* gatewayCall({
        as,
        body: "hello",
        headers: { "content-type": "multipart/form-data; boundary=x", "x-plugin-id": "stt" }
      })
      assertError(broken, { status: 400, code: "body_malformed" })
      const withoutFile = yield* form({ plugin: "stt", file: "text" })
      assertError(yield* gatewayCall({ as, ...withoutFile }), { status: 400, code: "invalid_request" })
      const badField = yield* form({ plugin: "stt", file: sound(3), language: "german" })
      const refused = yield* gatewayCall({ as, ...badField })
      assertError(refused, { status: 400, code: "invalid_request" })
      assert.include(refused.text, '"path":"language"')
      const toText = yield* form({ file: sound(3) })
      assertError(yield* gatewayCall({ as, ...toText }), { status: 415, code: "media_type_unsupported" })
      const large = yield* form({ plugin: "stt", file: sound(25 * 1024 * 1024 + 1) })
      assertError(yield* gatewayCall({ as, ...large }), { status: 413, code: "body_too_large" })
      assert.strictEqual(yield* readUsedUnits(as), 0)
    })
  )
})

layer(App.layer({ aiLayerTransport: "remote" }), { excludeTestServices: true })(
  "The gateway, with the AI layer in another process",
  (it) => {
    it.effect("The remote AI layer answers as in one process", () =>
      Effect.gen(function* () {
        const as = yield* App.signInNewUser("pro")
        const whole = yield* gatewayCall({ as })
        assert.strictEqual((yield* decodeGatewayAnswer(whole)).message, "Good day.")
        assert.strictEqual(whole.headers["x-provider"], "openai")
        const pieces = yield* gatewayCall({ as, headers: { accept: "text/event-stream" } })
        assert.deepStrictEqual(
          parseEvents(pieces).map(({ event }) => event),
          ["delta", "delta", "done"]
        )
        assert.strictEqual(yield* readUsedUnits(as), 2)
      })
    )

    it.effect("The remote AI layer sends the opening first and in the end, as earlier releases require", () =>
      Effect.gen(function* () {
        const { internalKey } = yield* App.TestApp
        const { text } = yield* App.backend({
          method: "POST",
          path: modelAnswersPath,
          headers: { authorization: `Bearer ${internalKey}` },
          json: { messages: helloRequest.messages, caller: { userId: null, agentId: null } }
        })
        const sent = [...text.matchAll(/^data: ?(.*)$/gm)].map(([, data = ""]): unknown => JSON.parse(data))
        const [opened, end] = [sent.at(0), sent.at(-1)].map((event) => (Predicate.isRecord(event) ? event : {}))
        assert.deepStrictEqual(Object.keys(opened ?? {}), ["type", ...openingFields])
        assert.deepStrictEqual(Object.keys(end ?? {}), [
          "type",
          ...openingFields,
          "usage",
          "usageIsEstimated",
          "costUsd",
          "finishReason"
        ])
        assert.deepStrictEqual(
          openingFields.map((name) => end?.[name]),
          openingFields.map((name) => opened?.[name])
        )
      })
    )

    it.effect("The remote AI layer ends the model call when its client leaves", () =>
      Effect.gen(function* () {
        const as = yield* App.signInNewUser("pro")
        yield* withPendingAnswer((model) =>
          Effect.gen(function* () {
            const call = yield* Effect.fork(gatewayCall({ as, headers: { accept: "text/event-stream" } }))
            yield* model.begun
            yield* Fiber.interrupt(call)
            yield* model.left
          })
        )
        yield* eventually(readUsedUnits(as), (used) => used === 1, { description: "the used units are settled" })
      })
    )
  }
)
