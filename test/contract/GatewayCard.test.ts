import { Charging } from "@berth/domain/billing/Charging"
import { ProviderFailed } from "@berth/domain/ai/ModelChat"
import { assert, layer } from "@effect/vitest"
import { Array, Duration, Effect, Fiber, Redacted, Stream } from "effect"
import { eventually } from "../conformance/Eventually.ts"
import { unique } from "../support/Samples.ts"
import { ScriptedModels } from "../support/ScriptedModels.ts"
import * as App from "../support/WebApp.ts"
import { eventsOf } from "./Events.ts"
import { answerOf, gateway, hello, saying, unitsOf, whileWaiting } from "./Paying.ts"
import { useUpUnits } from "./Scene.ts"
import * as s from "./Shapes.ts"

const limits = { gateway: { count: 100_000, window: Duration.minutes(1) } }
const long = { ...hello, max_tokens: 20_000 }
const events = { accept: "text/event-stream" }
const key = (name: string) => ({ "idempotency-key": name })

layer(App.layer({ limits }), { excludeTestServices: true })("A call that is paid by card", (it) => {
  it.effect("costs a unit for every started 4,000 tokens that it took, at most what was expected", () =>
    Effect.gen(function* () {
      const { during } = yield* ScriptedModels
      const tries = [
        [hello, 10, 1],
        [long, 10, 1],
        [long, 4_001, 2],
        [long, 12_000, 3],
        [hello, 100_000, 1]
      ] as const
      for (const [json, tokens, units] of tries) {
        const as = yield* App.newcomer("pro")
        const answer = yield* during({ chat: () => saying("Hi", tokens) })(gateway({ as, json }))
        assert.strictEqual(answer.status, 200, answer.text)
        assert.strictEqual(yield* unitsOf(as), units, `${tokens} tokens`)
      }
      const as = yield* App.newcomer("pro")
      yield* gateway({ as, json: { plugin: "tts", text: "Hello" } })
      assert.strictEqual(yield* unitsOf(as), 3)
      yield* gateway({ as, json: { plugin: "stt", audio: "SUQzBwcH" } })
      assert.strictEqual(yield* unitsOf(as), 5)
      yield* gateway({ as, json: { ...hello, plugin: "agent" } })
      assert.strictEqual(yield* unitsOf(as), 10)
    })
  )

  it.effect("holds an answer without a limit of its own to what is charged for", () =>
    Effect.gen(function* () {
      const { during } = yield* ScriptedModels
      const as = yield* App.newcomer("pro")
      const asked: Array<number | undefined> = []
      yield* during({
        chat: (_model, _messages, { maxTokens }) => {
          asked.push(maxTokens)
          return saying("Hi")
        }
      })(Effect.all([gateway({ as, json: { messages: hello.messages } }), gateway({ as })]))
      assert.deepStrictEqual(asked, [3_994, 100])
    })
  )

  it.effect("comes in pieces when they are asked for, in either way", () =>
    Effect.gen(function* () {
      const as = yield* App.newcomer("pro")
      const tries = [
        { headers: events, json: hello },
        { json: { ...hello, stream: true } },
        { headers: events, json: { ...hello, plugin: "agent" } }
      ]
      for (const call of tries) {
        const answer = yield* gateway({ as, ...call })
        assert.match(answer.headers["content-type"] ?? "", /^text\/event-stream/)
        const told = eventsOf(answer)
        assert.deepStrictEqual(
          told.map(({ event }) => event),
          ["delta", "delta", "done"]
        )
        s.assertShape(told[0]?.data, { text: s.text })
        s.assertShape(told[2]?.data, {
          plugin: s.is("plugin" in call.json ? "agent" : "generate-text"),
          timestamp: s.timestamp,
          payment: { method: s.is("card"), receipt: s.is(null) }
        })
        assert.strictEqual(answer.headers["x-plugin-id"], "plugin" in call.json ? "agent" : "generate-text")
      }
      for (const json of [
        { plugin: "tts", text: "Hello" },
        { plugin: "stt", audio: "SUQzBwcH" }
      ]) {
        const whole = yield* gateway({ as, headers: events, json })
        assert.match(whole.headers["content-type"] ?? "", /^application\/json/)
      }
      assert.strictEqual(yield* unitsOf(as), 1 + 1 + 5 + 3 + 2)
    })
  )

  it.effect("costs nothing when it fails, before its first piece or after it", () =>
    Effect.gen(function* () {
      const { during } = yield* ScriptedModels
      const as = yield* App.newcomer("pro")
      const half = Stream.make({ type: "text" as const, text: "Half " })
      const failures = [Stream.empty, half, Stream.concat(half, Stream.die(new Error("hunter2")))]
      for (const chat of failures)
        for (const headers of [{}, events]) {
          const answer = yield* during({ chat: () => chat })(gateway({ as, headers, json: long }))
          assert.notInclude(answer.text, "hunter2")
          if (answer.status !== 500) {
            const told = eventsOf(answer)
            assert.deepStrictEqual(
              told.map(({ event }) => event),
              ["delta", "error"]
            )
            s.assertShape(told[1]?.data, { error: s.is("internal"), message: s.text, code: s.is("plugin_failed") })
          }
        }
      yield* eventually(unitsOf(as), (used) => used === 0, { what: "everything to be given back" })
    })
  )

  it.effect("costs who leaves what he was given, and the model is left with him", () =>
    Effect.gen(function* () {
      const as = yield* App.newcomer("pro")
      yield* whileWaiting((model) =>
        Effect.gen(function* () {
          const call = yield* Effect.fork(gateway({ as, headers: events, json: long }))
          yield* model.begun
          assert.strictEqual(yield* unitsOf(as), 6)
          yield* Fiber.interrupt(call)
          yield* model.left
        })
      )
      yield* eventually(unitsOf(as), (used) => used === 1, { what: "what was used to be booked" })

      yield* whileWaiting((model) =>
        Effect.gen(function* () {
          const call = yield* Effect.fork(gateway({ as, json: long }))
          yield* model.begun
          assert.strictEqual(yield* unitsOf(as), 7)
          yield* Fiber.interrupt(call)
          yield* model.left
        })
      )
      yield* eventually(unitsOf(as), (used) => used === 1, { what: "nothing to be booked where nothing went out" })
    })
  )

  it.effect("is carried out for exactly as many as can be paid, however many there are at once", () =>
    Effect.gen(function* () {
      const as = yield* App.newcomer("starter")
      yield* (yield* Charging).reserve(as.user, 500, yield* unique("before"))
      const answers = yield* Effect.all(
        Array.makeBy(500, () => gateway({ as })),
        { concurrency: 100 }
      )
      const statuses = answers.map(({ status }) => status)
      assert.strictEqual(statuses.filter((status) => status === 200).length, 100)
      assert.strictEqual(statuses.filter((status) => status === 402).length, 400)
      assert.strictEqual(yield* unitsOf(as), 600)
    })
  )

  it.effect("costs nothing by the caller's own keys, and needs nothing that is left", () =>
    Effect.gen(function* () {
      const { during } = yield* ScriptedModels
      const as = yield* App.newcomer("starter")
      const keys = () => Effect.succeed({ openai: Redacted.make("sk-mine") })
      const [own, others] = ["openai/gpt-4", "anthropic/claude-opus-4-6"].map((model) => ({ ...hello, model }))
      const withKeys = during({ keys })
      assert.strictEqual((yield* withKeys(gateway({ as, json: own }))).status, 200)
      assert.strictEqual(yield* unitsOf(as), 0)
      assert.strictEqual((yield* withKeys(gateway({ as, json: others }))).status, 200)
      assert.strictEqual(yield* unitsOf(as), 1)

      yield* (yield* Charging).reserve(as.user, 599, yield* unique("the rest"))
      for (const headers of [{}, events]) {
        assert.strictEqual((yield* withKeys(gateway({ as, headers, json: own }))).status, 200)
        assert.strictEqual((yield* withKeys(gateway({ as, headers, json: others }))).status, 402)
        assert.strictEqual((yield* gateway({ as, headers, json: own })).status, 402)
      }
      const refusal = new ProviderFailed({ provider: "openai", kind: "unauthorized", reason: "no such key" })
      const refused = yield* during({ keys, chat: () => Stream.fail(refusal) })(gateway({ as, json: own }))
      assert.deepInclude(refused.body, { error: "internal", code: "plugin_failed" })
      assert.include(refused.text, "your openai key was refused")
      assert.strictEqual(yield* unitsOf(as), 600)
    })
  )

  it.effect("that nothing is left for can be paid for otherwise", () =>
    Effect.gen(function* () {
      const as = yield* App.newcomer("starter")
      yield* useUpUnits(as)
      const cardProcessor = { checkoutUrl: s.matching(/\/pricing$/), amount: s.is(0.01), currency: s.is("usd") }
      const general = { error: s.text, message: s.matching(/units are used up/), code: s.text, traceId: s.text }
      const either = yield* gateway({ as })
      assert.match(String(either.headers["www-authenticate"]), /^Payment /)
      assert.strictEqual(either.headers["cache-control"], "no-store")
      assert.isString(either.body["challengeId"])
      s.assertShape(either.body["cardProcessor"], cardProcessor)
      const byCard = yield* gateway({ as, headers: { "x-payment-method": "cardProcessor" } })
      assert.strictEqual(byCard.status, 402)
      assert.notProperty(byCard.headers, "www-authenticate")
      s.assertShape(byCard.body, { ...general, cardProcessor })
    })
  )

  it.effect("is made once for a key, at once and later, whole or in pieces", () =>
    Effect.gen(function* () {
      const as = yield* App.newcomer("pro")
      const headers = key("only-once")
      const answers = yield* Effect.all(
        Array.makeBy(10, () => gateway({ as, headers })),
        { concurrency: "unbounded" }
      )
      assert.strictEqual(new Set(answers.map(({ text }) => text)).size, 1, JSON.stringify(answers[0]))
      for (const answer of answers) {
        assert.strictEqual(answer.status, 200)
        assert.strictEqual(answer.headers["x-plugin-id"], "generate-text")
      }
      const inPieces = yield* gateway({ as, headers: { ...headers, ...events } })
      assert.deepStrictEqual(
        eventsOf(inPieces).map(({ event }) => event),
        ["delta", "done"]
      )
      const first = yield* Effect.map(gateway({ as, headers }), answerOf)
      assert.strictEqual((yield* first).message, "Good day.")
      const other = yield* gateway({ as, headers, json: { ...hello, max_tokens: 5 } })
      assert.deepStrictEqual([other.status, other.body["code"]], [422, "idempotency_key_reused"])
      const otherPlugin = yield* gateway({ as, headers: { ...headers, "x-plugin-id": "agent" } })
      assert.strictEqual(otherPlugin.status, 422)
      assert.strictEqual(yield* unitsOf(as), 1)
      const stranger = yield* App.newcomer("pro")
      assert.notProperty((yield* gateway({ as: stranger, headers })).headers, "idempotent-replayed")
    })
  )

  it.effect("in pieces keeps its key while it runs, and its answer after that", () =>
    Effect.gen(function* () {
      const as = yield* App.newcomer("pro")
      const headers = { ...key("streamed"), ...events }
      yield* whileWaiting((model) =>
        Effect.gen(function* () {
          const call = yield* Effect.fork(gateway({ as, headers }))
          yield* model.begun
          const second = yield* Effect.fork(gateway({ as, headers: key("streamed") }))
          yield* model.go
          const first = yield* Fiber.join(call)
          assert.strictEqual(eventsOf(first).at(-1)?.event, "done")
          const repeated = yield* answerOf(yield* Fiber.join(second))
          assert.strictEqual(repeated.message, "Half done.")
          assert.strictEqual(yield* model.calls, 1)
        })
      )
      assert.strictEqual(yield* unitsOf(as), 1)
    })
  )

  it.effect("that failed or was left leaves its key free", () =>
    Effect.gen(function* () {
      const as = yield* App.newcomer("pro")
      const headers = { ...key("again"), ...events }
      yield* whileWaiting((model) =>
        Effect.gen(function* () {
          const call = yield* Effect.fork(gateway({ as, headers }))
          yield* model.begun
          yield* Fiber.interrupt(call)
          yield* model.left
        })
      )
      const { during } = yield* ScriptedModels
      const failed = yield* during({ chat: () => Stream.empty })(gateway({ as, headers }))
      assert.strictEqual(failed.status, 500)
      const answer = yield* gateway({ as, headers: key("again") })
      assert.strictEqual((yield* answerOf(answer)).message, "Good day.")
    })
  )
})

layer(App.layer(), { excludeTestServices: true })("Calls of the gateway", (it) => {
  it.effect("are a hundred a minute for each payer, whatever becomes of them", () =>
    Effect.gen(function* () {
      const as = yield* App.newcomer("pro")
      const many = (call: Partial<App.AppCall>) =>
        Effect.all(
          Array.makeBy(101, () => gateway({ json: { plugin: "nobody" }, ...call })),
          { concurrency: 20 }
        )
      for (const payer of [{ as }, { from: "203.0.113.9" }]) {
        const answers = yield* many(payer)
        const counted = (wanted: number) => answers.filter(({ status }) => status === wanted).length
        assert.deepStrictEqual([counted(502), counted(429)], [100, 1])
        const refused = answers.find(({ status }) => status === 429)
        assert.isAtLeast(Number(refused?.headers["retry-after"]), 1)
        assert.strictEqual(refused?.body["limit"], "gateway")
        assert.strictEqual(refused?.headers["access-control-allow-origin"], "*")
      }
      // A user is one payer wherever he is, and an address is none of those behind it who have signed in.
      assert.strictEqual((yield* gateway({ as, from: "203.0.113.10" })).status, 429)
      const other = yield* App.newcomer("pro")
      assert.strictEqual((yield* gateway({ as: other, from: "203.0.113.9" })).status, 200)
    })
  )
})
