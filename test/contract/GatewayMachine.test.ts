import { PaymentReceipt } from "@berth/domain/gateway/payments/PaymentReceipt"
import { SqlClient } from "@effect/sql/SqlClient"
import { assert, layer } from "@effect/vitest"
import { Array, Duration, Effect, Encoding, Fiber, Schema, Stream } from "effect"
import type { HttpAnswer } from "../support/HttpCall.ts"
import { plain } from "../support/payments/PaidCalls.ts"
import { ScriptedModels } from "../support/ScriptedModels.ts"
import { ScriptedPlugins } from "../support/ScriptedPlugins.ts"
import * as App from "../support/WebApp.ts"
import { eventsOf } from "./Events.ts"
import { answerOf, asMachine, challengeFor, gateway, hello, paidFor, pay, unitsOf, whileWaiting } from "./Paying.ts"
import * as s from "./Shapes.ts"

const limits = { gateway: { count: 100_000, window: Duration.minutes(1) } }
const events = { accept: "text/event-stream" }
const statusesOf = (answers: ReadonlyArray<HttpAnswer>) => answers.map(({ status }) => status)
const decodeReceipt = (header: unknown) =>
  Effect.flatMap(Encoding.decodeBase64UrlString(String(header)), Schema.decode(Schema.parseJson(PaymentReceipt)))

/** Whether a request is at work for what a transaction has paid. */
const isHeld = (hash: string) =>
  Effect.flatMap(SqlClient, (sql) =>
    Effect.map(
      sql`select 1 from payment_redemptions where transaction_hash = ${hash} and lease_until > now()`,
      (rows) => rows.length > 0
    )
  )

const isChallenge = (answer: HttpAnswer, problem: string) => {
  assert.strictEqual(answer.status, 402, answer.text)
  assert.strictEqual(answer.body["type"], `https://paymentauth.org/problems/${problem}`)
  assert.match(String(answer.headers["www-authenticate"]), /^Payment id="/)
  assert.strictEqual(answer.headers["cache-control"], "no-store")
  assert.notProperty(answer.headers, "payment-receipt")
}

layer(App.layer({ limits }), { excludeTestServices: true })("A call that a machine pays for", (it) => {
  it.effect("is told what it costs, whole for every kind of client", () =>
    Effect.gen(function* () {
      const { network } = yield* App.WebApp
      const tries = [
        [hello, "10000", 0.01],
        [{ ...hello, max_tokens: 20_000 }, "60000", 0.06],
        [{ ...hello, plugin: "agent" }, "50000", 0.05],
        [{ plugin: "tts", text: "Hello" }, "30000", 0.03],
        [{ plugin: "stt", audio: "SUQzBwcH" }, "20000", 0.02]
      ] as const
      for (const [json, amount, usd] of tries) {
        const answer = yield* gateway({ json, headers: asMachine })
        isChallenge(answer, "payment-required")
        s.assertShape(answer.body, {
          error: s.is("payment_required"),
          message: s.text,
          code: s.is("payment_required"),
          traceId: s.text,
          mpp: {
            scheme: s.is("Payment"),
            amount: s.is(amount),
            currency: s.is(network.token),
            recipient: s.matching(/^0x[0-9a-f]{40}$/i),
            description: s.text,
            nonce: s.text,
            expiresAt: s.epochMillis
          },
          cardProcessor: { checkoutUrl: s.matching(/^http:.+\/pricing$/), amount: s.is(usd), currency: s.is("usd") },
          type: s.text,
          title: s.text,
          status: s.is(402),
          detail: s.text,
          challengeId: s.text
        })
        assert.include(String(answer.headers["www-authenticate"]), `amount="${amount}"`)
      }
    })
  )

  it.effect("is answered with a receipt, whatever the scheme's case, and whether the method is named or not", () =>
    Effect.gen(function* () {
      const schemes = ["Payment", "payment", "PAYMENT"]
      for (const headers of [{}, asMachine])
        for (const scheme of schemes) {
          const { authorization, hash } = yield* paidFor()
          const answer = yield* gateway({
            headers: { ...headers, authorization: authorization.replace("Payment", scheme) }
          })
          assert.strictEqual(answer.status, 200, answer.text)
          s.assertShape(answer.body, {
            plugin: s.is("generate-text"),
            message: s.is("Good day."),
            timestamp: s.timestamp,
            payment: { method: s.is("mpp"), receipt: s.is(hash) }
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

  it.effect("is no session's to pay, and no payment is taken where a card is wanted", () =>
    Effect.gen(function* () {
      const { network } = yield* App.WebApp
      const as = yield* App.newcomer("pro")
      const { authorization } = yield* paidFor()
      const before = (yield* network.sent).length
      const byCard = yield* gateway({ as, headers: { authorization, "x-payment-method": "card" } })
      assert.deepInclude(byCard.body["payment"], { method: "card" })
      assert.strictEqual((yield* network.sent).length, before)
      const byMachine = yield* gateway({ as, headers: { authorization } })
      assert.deepInclude(byMachine.body["payment"], { method: "mpp" })
      assert.strictEqual(yield* unitsOf(as), 1)
    })
  )

  it.effect("is answered once, however many show its payment at once", () =>
    Effect.gen(function* () {
      const { network } = yield* App.WebApp
      const { during } = yield* ScriptedPlugins
      let calls = 0
      const json = { plugin: "tts", text: "Hello" }
      const { authorization, raw } = yield* paidFor({ json })
      const speak = () =>
        Effect.sync(() => {
          calls += 1
          return { audio: new Uint8Array([1, 2, 3]), contentType: "audio/wav", ownKey: false }
        })
      const answers = yield* during({ speak })(
        Effect.all(
          Array.makeBy(50, () => gateway({ json, headers: { authorization } })),
          { concurrency: "unbounded" }
        )
      )
      const statuses = statusesOf(answers)
      assert.strictEqual(statuses.filter((status) => status === 200).length, 1)
      assert.includeMembers([402, 409], [...new Set(statuses.filter((status) => status !== 200))])
      assert.strictEqual(calls, 1)
      assert.strictEqual((yield* network.sent).filter((sent) => sent === raw).length, 1)
      isChallenge(yield* gateway({ json, headers: { authorization } }), "invalid-challenge")
    })
  )

  it.effect("gives its answer again to who shows the same payment with the same key, and to nobody else", () =>
    Effect.gen(function* () {
      const headers = { "idempotency-key": "mine" }
      const { authorization } = yield* paidFor()
      const paid = { ...headers, authorization }
      const answers = yield* Effect.all(
        Array.makeBy(10, () => gateway({ headers: paid })),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual([...new Set(statusesOf(answers))], [200], JSON.stringify(statusesOf(answers)))
      assert.strictEqual(new Set(answers.map(({ text }) => text)).size, 1)
      assert.strictEqual(new Set(answers.map((answer) => answer.headers["payment-receipt"])).size, 1)
      const later = yield* gateway({ headers: paid })
      assert.strictEqual(later.headers["idempotent-replayed"], "true")
      const inPieces = yield* gateway({ headers: { ...paid, ...events } })
      assert.strictEqual(inPieces.headers["payment-receipt"], later.headers["payment-receipt"])
      assert.strictEqual(eventsOf(inPieces).at(-1)?.event, "done")

      isChallenge(yield* gateway({ headers: { authorization } }), "invalid-challenge")
      isChallenge(yield* gateway({ headers: { ...asMachine, ...headers } }), "payment-required")
      isChallenge(yield* gateway({ headers: { authorization, "idempotency-key": "other" } }), "invalid-challenge")
      const { authorization: another } = yield* paidFor()
      const paidAgain = yield* gateway({ headers: { ...headers, authorization: another } })
      assert.strictEqual(paidAgain.status, 200)
      assert.notProperty(paidAgain.headers, "idempotent-replayed")
    })
  )

  it.effect("is for the plugin and the body that it was asked for", () =>
    Effect.gen(function* () {
      const { network } = yield* App.WebApp
      const { authorization } = yield* paidFor()
      const others = [
        { json: { ...hello, max_tokens: 101 } },
        { headers: { "x-plugin-id": "agent" } },
        { json: { ...hello, plugin: "generate-text" } }
      ]
      const before = (yield* network.sent).length
      for (const { headers = {}, ...call } of others)
        isChallenge(yield* gateway({ ...call, headers: { authorization, ...headers } }), "invalid-challenge")
      const cheap = yield* challengeFor()
      const dear = yield* challengeFor({ json: { ...hello, max_tokens: 90_000 } })
      const underpaid = yield* pay({ ...dear, amount: cheap.amount })
      isChallenge(
        yield* gateway({ json: { ...hello, max_tokens: 90_000 }, headers: { authorization: underpaid.authorization } }),
        "payment-insufficient"
      )
      assert.strictEqual((yield* network.sent).length, before)
      assert.strictEqual((yield* gateway({ headers: { authorization } })).status, 200)
    })
  )

  it.effect("stays good when it fails, before its first piece or after it, until it is answered", () =>
    Effect.gen(function* () {
      const { network } = yield* App.WebApp
      const { during } = yield* ScriptedModels
      const { authorization, hash, raw } = yield* paidFor()
      const half = Stream.make({ type: "text" as const, text: "Half " })
      for (const chat of [Stream.empty, half, Stream.die(new Error("hunter2"))])
        for (const accept of [{}, events]) {
          const answer = yield* during({ chat: () => chat })(gateway({ headers: { authorization, ...accept } }))
          if (answer.status === 200) assert.strictEqual(eventsOf(answer).at(-1)?.event, "error")
          else {
            assert.deepInclude(answer.body, { error: "internal", code: "plugin_failed" })
            assert.notProperty(answer.headers, "payment-receipt")
            assert.isFalse(yield* isHeld(hash), "the payment is still held")
          }
        }
      const answer = yield* gateway({ headers: { authorization } })
      assert.deepStrictEqual(answer.body["payment"], { method: "mpp", receipt: hash })
      assert.strictEqual((yield* network.sent).filter((sent) => sent === raw).length, 1)
      isChallenge(yield* gateway({ headers: { authorization } }), "invalid-challenge")
    })
  )

  it.effect("in pieces is used up at its end, and good again for who left before that", () =>
    Effect.gen(function* () {
      const { authorization, hash } = yield* paidFor()
      const headers = { authorization, ...events }
      yield* whileWaiting((model) =>
        Effect.gen(function* () {
          const call = yield* Effect.fork(gateway({ headers }))
          yield* model.begun
          yield* Fiber.interrupt(call)
          yield* model.left
        })
      )
      const answer = yield* gateway({ headers })
      assert.strictEqual(answer.status, 200, answer.text)
      assert.isString(answer.headers["payment-receipt"])
      const told = eventsOf(answer)
      assert.deepStrictEqual(
        told.map(({ event }) => event),
        ["delta", "delta", "done"]
      )
      s.assertShape(told[2]?.data, {
        plugin: s.is("generate-text"),
        timestamp: s.timestamp,
        payment: { method: s.is("mpp"), receipt: s.is(hash) }
      })
      isChallenge(yield* gateway({ headers }), "invalid-challenge")
    })
  )

  it.effect("waits for the first one with its payment, which is not asked for twice", () =>
    Effect.gen(function* () {
      const { authorization } = yield* paidFor()
      const headers = { authorization, "idempotency-key": "both" }
      yield* whileWaiting((model) =>
        Effect.gen(function* () {
          const first = yield* Effect.fork(gateway({ headers: { ...headers, ...events } }))
          yield* model.begun
          const second = yield* Effect.fork(gateway({ headers }))
          yield* model.go
          assert.strictEqual(eventsOf(yield* Fiber.join(first)).at(-1)?.event, "done")
          const repeated = yield* Fiber.join(second)
          assert.strictEqual((yield* answerOf(repeated)).message, "Half done.")
          assert.strictEqual(yield* model.calls, 1)
        })
      )
    })
  )

  it.effect("is judged by nobody while the chain cannot be reached", () =>
    Effect.gen(function* () {
      const { network } = yield* App.WebApp
      const { authorization } = yield* paidFor()
      const away = yield* Effect.acquireUseRelease(
        network.setUp(false),
        () => gateway({ headers: { authorization } }),
        () => network.setUp(true)
      )
      assert.deepInclude(away.body, { error: "internal", code: "payments_unavailable" })
      assert.strictEqual(away.status, 503)
      assert.notProperty(away.headers, "www-authenticate")
      assert.isString(away.headers["retry-after"])
      assert.strictEqual((yield* gateway({ headers: { authorization } })).status, 200)
    })
  )

  it.effect("is not bought by a stranger's transfer", () =>
    Effect.gen(function* () {
      const { network } = yield* App.WebApp
      const terms = yield* challengeFor()
      const stranger = yield* pay(terms)
      yield* network.chain.broadcast(stranger.raw)
      const copied = yield* challengeFor()
      for (const shown of [stranger.hash, stranger.raw])
        isChallenge(
          yield* gateway({ headers: { authorization: plain({ id: copied.nonce }, shown).join("") } }),
          "verification-failed"
        )
    })
  )

  it.effect("says nothing of its credential in a log", () =>
    Effect.gen(function* () {
      const { logged } = yield* App.WebApp
      const { authorization, raw } = yield* paidFor()
      yield* gateway({ headers: { authorization } })
      for (const line of yield* logged) {
        assert.notInclude(line, authorization)
        assert.notInclude(line, raw)
      }
    })
  )
})
