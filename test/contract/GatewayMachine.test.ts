import { PaymentReceiptFields } from "@berth/api/gateway/payments/PaymentReceiptHeader"
import { ProviderFailed } from "@berth/domain/ai/models/ModelErrors"
import { PluginFailed } from "@berth/domain/gateway/plugins/PluginRun"
import { assert, layer } from "@effect/vitest"
import { Array, Duration, Effect, Encoding, Fiber, Schema, Stream } from "effect"
import type { HttpCallResponse } from "../support/HttpCall.ts"
import { interfaceCredential } from "../support/payments/PaymentFixtures.ts"
import { fakeModels, ModelProvidersTest } from "@berth/infra/ai/ModelProvidersTest"
import { SpeechTest } from "@berth/infra/backend/SpeechTest"
import { FakeAgentTasks } from "../fakes/FakeAgentTasks.ts"
import { sql } from "../support/Sql.ts"
import * as App from "../support/TestApp.ts"
import { parseEvents } from "./ServerSentEvents.ts"
import {
  decodeGatewayAnswer,
  machinePaymentHeaders,
  requestChallenge,
  gatewayCall,
  helloRequest,
  payForCall,
  payChallenge,
  readUsedUnits,
  textAnswer,
  withPendingAnswer
} from "./GatewayPayments.ts"
import * as s from "./ResponseShapes.ts"

const limits = { gateway: { count: 100_000, window: Duration.minutes(1) } }
const events = { accept: "text/event-stream" }
/** Base64 of a WAV file of this many seconds, 10 bytes each. */
const makeSilence = (seconds: number) => {
  const file = Buffer.alloc(44 + seconds * 10)
  file.write("RIFF", 0)
  file.writeUInt32LE(file.length - 8, 4)
  file.write("WAVEfmt ", 8)
  file.writeUInt32LE(16, 16)
  file.writeUInt32LE(10, 28)
  file.write("data", 36)
  file.writeUInt32LE(seconds * 10, 40)
  return file.toString("base64")
}
const statusesOf = (answers: ReadonlyArray<HttpCallResponse>) => answers.map(({ status }) => status)
const decodeReceipt = (header: unknown) =>
  Effect.flatMap(Encoding.decodeBase64UrlString(String(header)), Schema.decode(Schema.parseJson(PaymentReceiptFields)))

/** Whether a request paid by this transaction is in progress. */
const isHeld = (hash: string) =>
  Effect.map(
    sql`select 1 from payment_redemptions where transaction_hash = ${hash} and lease_until > now()`,
    (rows) => rows.length > 0
  )

const isChallenge = (answer: HttpCallResponse, problem: string) => {
  assert.strictEqual(answer.status, 402, answer.text)
  assert.strictEqual(answer.body["type"], `https://paymentauth.org/problems/${problem}`)
  assert.match(String(answer.headers["www-authenticate"]), /^Payment id="/)
  assert.strictEqual(answer.headers["cache-control"], "no-store")
  assert.notProperty(answer.headers, "payment-receipt")
}

layer(App.layer({ limits }), { excludeTestServices: true })("A call that a machine pays for", (it) => {
  it.effect("A call paid by machine gets its price in a complete challenge for every kind of client", () =>
    Effect.gen(function* () {
      const { paymentNetwork } = yield* App.TestApp
      const tries = [
        [helloRequest, "10000", 0.01],
        [{ ...helloRequest, max_tokens: 20_000 }, "400000", 0.4],
        [{ ...helloRequest, plugin: "agent" }, "50000", 0.05],
        [{ plugin: "tts", text: "Hello" }, "30000", 0.03],
        [{ plugin: "stt", audio: "SUQzBwcH" }, "20000", 0.02]
      ] as const
      for (const [json, amount, usd] of tries) {
        const answer = yield* gatewayCall({ json, headers: machinePaymentHeaders })
        isChallenge(answer, "payment-required")
        s.assertShape(answer.body, {
          error: s.equalTo("payment_required"),
          message: s.nonEmptyText,
          code: s.equalTo("payment_required"),
          traceId: s.nonEmptyText,
          mpp: {
            scheme: s.equalTo("Payment"),
            amount: s.equalTo(amount),
            currency: s.equalTo(paymentNetwork.token),
            recipient: s.matchingPattern(/^0x[0-9a-f]{40}$/i),
            description: s.nonEmptyText,
            nonce: s.nonEmptyText,
            expiresAt: s.recentEpochMillis
          },
          cardProcessor: {
            checkoutUrl: s.matchingPattern(/^http:.+\/pricing$/),
            amount: s.equalTo(usd),
            currency: s.equalTo("usd")
          },
          type: s.nonEmptyText,
          title: s.nonEmptyText,
          status: s.equalTo(402),
          detail: s.nonEmptyText,
          challengeId: s.nonEmptyText
        })
        assert.include(String(answer.headers["www-authenticate"]), `amount="${amount}"`)
      }
    })
  )

  it.effect("A call paid by machine is priced by characters and started minutes where they cost more", () =>
    Effect.gen(function* () {
      const tries = [
        [{ plugin: "tts", text: "x".repeat(4_096), model: "tts-1-hd" }, "160000"],
        [{ plugin: "stt", audio: makeSilence(301) }, "50000"]
      ] as const
      for (const [json, amount] of tries) {
        const answer = yield* gatewayCall({ json, headers: machinePaymentHeaders })
        assert.deepInclude(answer.body["mpp"], { amount }, answer.text)
      }
      const invalid = [
        { plugin: "tts", text: "Hello", model: "openai/unlisted" },
        { plugin: "stt", audio: makeSilence(3_601) },
        { plugin: "stt", audio: Encoding.encodeBase64(new TextEncoder().encode("fLaC")) }
      ]
      for (const json of invalid)
        assert.strictEqual((yield* gatewayCall({ json, headers: machinePaymentHeaders })).status, 400)
    })
  )

  it.effect("A call paid by machine is offered to an unchanged client of the draft by Accept-Payment", () =>
    Effect.gen(function* () {
      const headers = { "accept-payment": "tempo/charge" }
      isChallenge(yield* gatewayCall({ headers }), "payment-required")
      assert.strictEqual((yield* gatewayCall({ headers: { ...headers, "x-payment-method": "card" } })).status, 401)
      const as = yield* App.signInNewUser("pro")
      assert.deepInclude((yield* gatewayCall({ as, headers })).body["payment"], { method: "card" })
    })
  )

  it.effect("A call paid by machine is answered with a receipt for any case of the scheme, method or not", () =>
    Effect.gen(function* () {
      const schemes = ["Payment", "payment", "PAYMENT"]
      for (const headers of [{}, machinePaymentHeaders])
        for (const scheme of schemes) {
          const { authorization, hash } = yield* payForCall()
          const answer = yield* gatewayCall({
            headers: { ...headers, authorization: authorization.replace("Payment", scheme) }
          })
          assert.strictEqual(answer.status, 200, answer.text)
          s.assertShape(answer.body, {
            plugin: s.equalTo("generate-text"),
            message: s.equalTo("Good day."),
            timestamp: s.recentTimestamp,
            payment: { method: s.equalTo("mpp"), receipt: s.equalTo(hash) }
          })
          assert.deepInclude(yield* decodeReceipt(answer.headers["payment-receipt"]), {
            status: "success",
            method: "tempo",
            reference: hash
          })
          assert.strictEqual(answer.headers["cache-control"], "private")
          assert.strictEqual(answer.headers["x-plugin-id"], "generate-text")
        }
    })
  )

  it.effect("A call paid by machine uses no session, and no payment is consumed where a card is named", () =>
    Effect.gen(function* () {
      const { paymentNetwork } = yield* App.TestApp
      const as = yield* App.signInNewUser("pro")
      const { authorization } = yield* payForCall()
      const before = (yield* paymentNetwork.broadcastTransactions).length
      const byCard = yield* gatewayCall({ as, headers: { authorization, "x-payment-method": "card" } })
      assert.deepInclude(byCard.body["payment"], { method: "card" })
      assert.strictEqual((yield* paymentNetwork.broadcastTransactions).length, before)
      const byMachine = yield* gatewayCall({ as, headers: { authorization } })
      assert.deepInclude(byMachine.body["payment"], { method: "mpp" })
      assert.strictEqual(yield* readUsedUnits(as), 1)
    })
  )

  it.effect("A call paid by machine is answered once for concurrent requests with its payment", () =>
    Effect.gen(function* () {
      const { paymentNetwork } = yield* App.TestApp
      const { withBehavior } = yield* SpeechTest
      let calls = 0
      const json = { plugin: "tts", text: "Hello" }
      const { authorization, raw } = yield* payForCall({ json })
      const synthesize = () =>
        Effect.sync(() => {
          calls += 1
          return {
            audio: new Uint8Array([1, 2, 3]),
            contentType: "audio/wav",
            ownKey: false,
            answeredBy: { model: "openai/tts-1", provider: "openai" }
          }
        })
      const answers = yield* withBehavior({ synthesize })(
        Effect.all(
          Array.makeBy(50, () => gatewayCall({ json, headers: { authorization } })),
          { concurrency: "unbounded" }
        )
      )
      assert.deepStrictEqual([...new Set(statusesOf(answers))], [200])
      assert.strictEqual(new Set(answers.map(({ text }) => text)).size, 1)
      assert.strictEqual(answers.filter(({ headers }) => headers["idempotent-replayed"] === "true").length, 49)
      assert.strictEqual(calls, 1)
      assert.strictEqual((yield* paymentNetwork.broadcastTransactions).filter((sent) => sent === raw).length, 1)
    })
  )

  it.effect("A call paid by machine repeats its answer for the same payment and request only", () =>
    Effect.gen(function* () {
      const { authorization } = yield* payForCall()
      const first = yield* gatewayCall({ headers: { authorization } })
      assert.notProperty(first.headers, "idempotent-replayed")
      for (const headers of [{}, { "idempotency-key": "mine" }]) {
        const again = yield* gatewayCall({ headers: { authorization, ...headers } })
        assert.strictEqual(again.text, first.text)
        assert.strictEqual(again.headers["idempotent-replayed"], "true")
        for (const name of ["payment-receipt", "x-plugin-id", "x-model", "x-provider", "cache-control"])
          assert.strictEqual(again.headers[name], first.headers[name], name)
      }
      const streamed = yield* gatewayCall({ headers: { authorization, ...events } })
      assert.strictEqual(streamed.headers["payment-receipt"], first.headers["payment-receipt"])
      assert.deepStrictEqual(
        parseEvents(streamed).map(({ event }) => event),
        ["delta", "done"]
      )

      isChallenge(
        yield* gatewayCall({ headers: { authorization }, json: { ...helloRequest, max_tokens: 99 } }),
        "invalid-challenge"
      )
      isChallenge(yield* gatewayCall({ headers: machinePaymentHeaders }), "payment-required")
      const { authorization: another } = yield* payForCall()
      const paidAgain = yield* gatewayCall({ headers: { authorization: another } })
      assert.strictEqual(paidAgain.status, 200)
      assert.notProperty(paidAgain.headers, "idempotent-replayed")
    })
  )

  it.effect("A call paid by machine is bound to its plugin and body", () =>
    Effect.gen(function* () {
      const { paymentNetwork } = yield* App.TestApp
      const { authorization } = yield* payForCall()
      const others = [
        { json: { ...helloRequest, max_tokens: 101 } },
        { headers: { "x-plugin-id": "agent" } },
        { json: { ...helloRequest, plugin: "generate-text" } }
      ]
      const before = (yield* paymentNetwork.broadcastTransactions).length
      for (const { headers = {}, ...call } of others)
        isChallenge(yield* gatewayCall({ ...call, headers: { authorization, ...headers } }), "invalid-challenge")
      const cheap = yield* requestChallenge()
      const dear = yield* requestChallenge({ json: { ...helloRequest, max_tokens: 90_000 } })
      const underpaid = yield* payChallenge({ ...dear, amount: cheap.amount })
      isChallenge(
        yield* gatewayCall({
          json: { ...helloRequest, max_tokens: 90_000 },
          headers: { authorization: underpaid.authorization }
        }),
        "payment-insufficient"
      )
      assert.strictEqual((yield* paymentNetwork.broadcastTransactions).length, before)
      assert.strictEqual((yield* gatewayCall({ headers: { authorization } })).status, 200)
    })
  )

  it.effect("A call paid by machine stays redeemable when it fails at any time, until it is answered", () =>
    Effect.gen(function* () {
      const { paymentNetwork } = yield* App.TestApp
      const { withBehavior } = yield* ModelProvidersTest
      const half = Stream.make({ type: "delta" as const, text: "Half " })
      for (const chat of [Stream.empty, half, Stream.die(new Error("hunter2"))]) {
        const { authorization, hash, raw } = yield* payForCall()
        for (const accept of [{}, events]) {
          const answer = yield* withBehavior({ chat: () => chat })(
            gatewayCall({ headers: { authorization, ...accept } })
          )
          if (answer.status === 200) assert.strictEqual(parseEvents(answer).at(-1)?.event, "error")
          else {
            assert.deepInclude(answer.body, { error: "internal", code: "plugin_failed" })
            assert.notProperty(answer.headers, "payment-receipt")
            assert.isFalse(yield* isHeld(hash), "the payment is still held")
          }
        }
        const answer = yield* gatewayCall({ headers: { authorization } })
        assert.deepStrictEqual(answer.body["payment"], { method: "mpp", receipt: hash })
        assert.strictEqual((yield* paymentNetwork.broadcastTransactions).filter((sent) => sent === raw).length, 1)
      }
    })
  )

  it.effect("A call paid by machine runs three times at most, whatever the plugin", () =>
    Effect.gen(function* () {
      const tasks = yield* FakeAgentTasks
      const speech = yield* SpeechTest
      for (const json of [
        { plugin: "tts", text: "Hello" },
        { ...helloRequest, plugin: "agent" }
      ]) {
        const { authorization } = yield* payForCall({ json })
        const failed = new PluginFailed({ reason: "no voice today" })
        const fail = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
          effect.pipe(
            tasks.withBehavior({ run: () => Stream.fail(failed) }),
            speech.withBehavior({ synthesize: () => failed })
          )
        for (let run = 1; run <= 3; run += 1)
          assert.strictEqual((yield* fail(gatewayCall({ json, headers: { authorization } }))).status, 500)
        isChallenge(yield* gatewayCall({ json, headers: { authorization } }), "invalid-challenge")
      }
    })
  )

  it.effect("A call paid by machine falls back only to models whose cost the payment covers", () =>
    Effect.gen(function* () {
      const { withBehavior } = yield* ModelProvidersTest
      const [dear, cheap] = fakeModels
      if (dear === undefined || cheap === undefined) return assert.fail("two models are expected")
      const called: Array<string> = []
      const refusal = new ProviderFailed({ provider: "openai", kind: "overloaded", reason: "is full" })
      const withModels = (outputCost: number) =>
        withBehavior({
          catalog: Effect.succeed([{ ...dear, outputCost }, cheap]),
          chat: (model) => {
            called.push(model)
            return model === cheap.id ? Stream.fail(refusal) : textAnswer("Hi")
          }
        })
      const json = { ...helloRequest, model: cheap.id }
      const { authorization } = yield* payForCall({ json })
      const headers = { authorization }
      const uncovered = yield* withModels(1_500)(gatewayCall({ json, headers }))
      assert.strictEqual(uncovered.status, 500, uncovered.text)
      assert.deepStrictEqual(called.splice(0), [cheap.id])
      const covered = yield* withModels(15)(gatewayCall({ json, headers }))
      assert.strictEqual(covered.status, 200, covered.text)
      assert.deepStrictEqual(called.splice(0), [cheap.id, dear.id])
      const as = yield* App.signInNewUser("pro")
      assert.strictEqual((yield* withModels(1_500)(gatewayCall({ json, as }))).status, 200)
    })
  )

  it.effect("A call paid by machine runs to its end when its client leaves, and its answer waits for a repeat", () =>
    Effect.gen(function* () {
      for (const accept of [{}, events]) {
        const { authorization, hash } = yield* payForCall()
        yield* withPendingAnswer((model) =>
          Effect.gen(function* () {
            const call = yield* Effect.fork(gatewayCall({ headers: { authorization, ...accept } }))
            yield* model.begun
            yield* Fiber.interrupt(call)
            yield* model.go
            const answer = yield* gatewayCall({ headers: { authorization } })
            assert.strictEqual(answer.status, 200, answer.text)
            assert.strictEqual(answer.headers["idempotent-replayed"], "true")
            assert.deepInclude(answer.body, { message: "Half done.", payment: { method: "mpp", receipt: hash } })
            assert.strictEqual(yield* model.calls, 1)
          })
        )
      }
    })
  )

  it.effect("A call paid by machine streams its answer, and a repeat waits for it", () =>
    Effect.gen(function* () {
      const { authorization, hash } = yield* payForCall()
      const headers = { authorization, ...events }
      yield* withPendingAnswer((model) =>
        Effect.gen(function* () {
          const first = yield* Effect.fork(gatewayCall({ headers }))
          yield* model.begun
          const second = yield* Effect.fork(gatewayCall({ headers: { authorization } }))
          yield* model.go
          const events = parseEvents(yield* Fiber.join(first))
          assert.deepStrictEqual(
            events.map(({ event }) => event),
            ["delta", "delta", "done"]
          )
          s.assertShape(events[2]?.data, {
            plugin: s.equalTo("generate-text"),
            timestamp: s.recentTimestamp,
            payment: { method: s.equalTo("mpp"), receipt: s.equalTo(hash) }
          })
          const repeated = yield* Fiber.join(second)
          assert.strictEqual((yield* decodeGatewayAnswer(repeated)).message, "Half done.")
          assert.strictEqual(yield* model.calls, 1)
        })
      )
    })
  )

  it.effect("A call paid by machine is not decided while the chain is unreachable", () =>
    Effect.gen(function* () {
      const { paymentNetwork } = yield* App.TestApp
      const { authorization } = yield* payForCall()
      const away = yield* Effect.acquireUseRelease(
        paymentNetwork.setAvailable(false),
        () => gatewayCall({ headers: { authorization } }),
        () => paymentNetwork.setAvailable(true)
      )
      assert.deepInclude(away.body, { error: "internal", code: "payments_unavailable" })
      assert.strictEqual(away.status, 503)
      assert.notProperty(away.headers, "www-authenticate")
      assert.isString(away.headers["retry-after"])
      assert.strictEqual((yield* gatewayCall({ headers: { authorization } })).status, 200)
    })
  )

  it.effect("A call paid by machine is not paid by another payer's transfer", () =>
    Effect.gen(function* () {
      const { paymentNetwork } = yield* App.TestApp
      const terms = yield* requestChallenge()
      const stranger = yield* payChallenge(terms)
      yield* paymentNetwork.chain.broadcast(stranger.raw)
      const copied = yield* requestChallenge()
      for (const shown of [stranger.hash, stranger.raw])
        isChallenge(
          yield* gatewayCall({ headers: { authorization: interfaceCredential({ id: copied.nonce }, shown).join("") } }),
          "verification-failed"
        )
    })
  )

  it.effect("A call paid by machine logs nothing of its credential", () =>
    Effect.gen(function* () {
      const { logLines } = yield* App.TestApp
      const { authorization, raw } = yield* payForCall()
      yield* gatewayCall({ headers: { authorization } })
      for (const line of yield* logLines) {
        assert.notInclude(line, authorization)
        assert.notInclude(line, raw)
      }
    })
  )
})
