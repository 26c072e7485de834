import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import Stripe from "stripe"
import {
  testCardEventSecret,
  cardEventRequest,
  makeCardEvent,
  signCardEvent
} from "../support/billing/CardEventRequests.ts"
import { sql } from "../support/Sql.ts"
import * as App from "../support/TestApp.ts"
import { assertError } from "./ErrorAssertions.ts"
import { ApplyCardEventJob } from "@berth/domain/billing/events/CardEvent"

const failed = () => makeCardEvent("invoice.payment_failed", { id: "in_1", subscription: "sub_1", customer: "cus_1" })

const recordOf = (id: string) =>
  Effect.gen(function* () {
    const events = yield* sql`select type, status, payload from card_events where id = ${id}`
    const jobs =
      yield* sql`select id from outbox where name = ${ApplyCardEventJob.name} and payload->>'eventId' = ${id}`
    return { events, jobs: jobs.length }
  })

layer(App.layer(), { excludeTestServices: true })("POST /api/webhooks/cardProcessor", (it) => {
  for (const header of ["cardProcessor-signature", "stripe-signature"])
    it.effect(`The card webhook stores an event signed in ${header}, with the job that applies it`, () =>
      Effect.gen(function* () {
        const event = failed()
        const answer = yield* App.web(cardEventRequest(event, header))
        assert.strictEqual(answer.status, 200, answer.text)
        assert.deepStrictEqual(answer.body, { received: true })
        assert.deepStrictEqual(yield* recordOf(event.id), {
          events: [{ type: event.type, status: "received", payload: event }].map(({ payload, ...row }) => ({
            ...row,
            payload: { id: payload.id, type: payload.type, created: payload.created, data: payload.data }
          })),
          jobs: 1
        })
      })
    )

  it.effect("The card webhook accepts signatures of the official library", () =>
    Effect.gen(function* () {
      const stripe = new Stripe("sk_test_none")
      const event = failed()
      const payload = JSON.stringify(event, null, 2)
      const header = yield* Effect.promise(() =>
        stripe.webhooks.generateTestHeaderStringAsync({ payload, secret: testCardEventSecret })
      )
      const call = { method: "POST", path: "/api/webhooks/cardProcessor", body: payload }
      const answer = yield* App.web({ ...call, headers: { "stripe-signature": header } })
      assert.strictEqual(answer.status, 200, answer.text)
      assert.strictEqual((yield* recordOf(event.id)).jobs, 1)
    })
  )

  it.effect("The card webhook is idempotent, also for twenty concurrent events", () =>
    Effect.gen(function* () {
      const event = failed()
      const answers = yield* Effect.replicateEffect(App.web(cardEventRequest(event)), 20, { concurrency: "unbounded" })
      assert.deepStrictEqual(
        answers.map(({ body, status }) => [status, body]),
        answers.map(() => [200, { received: true }])
      )
      const { events, jobs } = yield* recordOf(event.id)
      assert.deepStrictEqual([events.length, jobs], [1, 1])
    })
  )

  it.effect("The card webhook takes the time of an event that has none from its signature", () =>
    Effect.gen(function* () {
      const object = { customer_email: "a@b.c", metadata: { plan: "solo" } }
      const at = Math.floor(Date.now() / 1000) - 100
      for (const created of [undefined, null]) {
        const event = { ...makeCardEvent("checkout.session.completed", object), created }
        const body = JSON.stringify(event)
        const answer = yield* App.web({
          method: "POST",
          path: "/api/webhooks/cardProcessor",
          body,
          headers: { "cardProcessor-signature": signCardEvent(body, at) }
        })
        assert.strictEqual(answer.status, 200, answer.text)
        const { events, jobs } = yield* recordOf(event.id)
        const payload = { id: event.id, type: event.type, created: at, data: { object } }
        assert.deepStrictEqual([events, jobs], [[{ type: event.type, status: "received", payload }], 1])
      }
    })
  )

  it.effect("The card webhook acknowledges other events without storing them", () =>
    Effect.gen(function* () {
      for (const type of ["charge.captured", "customer.created", "checkout.session.expired", "a"]) {
        const event = makeCardEvent(type, { id: "x" })
        assert.deepStrictEqual((yield* App.web(cardEventRequest(event))).body, { received: true })
        assert.deepStrictEqual(yield* recordOf(event.id), { events: [], jobs: 0 })
      }
    })
  )

  it.effect("The card webhook reads the raw bytes with any content type, origin and session", () =>
    Effect.gen(function* () {
      const someone = yield* App.signInNewUser()
      const body = `\n ${JSON.stringify({ ...failed(), name: "ä 😀 \\u0000" }, null, 3)} `
      const call = { method: "POST", path: "/api/webhooks/cardProcessor", body }
      const signature = { "cardProcessor-signature": signCardEvent(body) }
      for (const headers of [{}, { "content-type": "text/plain" }, { "content-type": "application/octet-stream" }])
        assert.strictEqual((yield* App.web({ ...call, headers: { ...headers, ...signature } })).status, 200)
      assert.strictEqual((yield* App.web({ ...call, as: someone, headers: signature })).status, 200)
      const pieces = [body.slice(0, 9), body.slice(9)].map((piece) => new TextEncoder().encode(piece))
      assert.strictEqual((yield* App.web({ ...call, body: pieces, headers: signature })).status, 200)
      assertError(yield* App.web({ ...call, as: someone }), { status: 400, code: "signature_invalid" })
    })
  )

  it.effect("The card webhook stores text that no column can hold, and large events", () =>
    Effect.gen(function* () {
      const strange = makeCardEvent("invoice.payment_failed", { id: "in_1", metadata: { note: "a\u0000b\ud800" } })
      assert.strictEqual((yield* App.web(cardEventRequest(strange))).status, 200)
      assert.strictEqual((yield* recordOf(strange.id)).jobs, 1)
      const many = makeCardEvent("invoice.payment_failed", {
        id: "in_1",
        list: Array.from({ length: 50_000 }, () => 1)
      })
      assert.strictEqual((yield* App.web(cardEventRequest(many))).status, 200)
      const large = makeCardEvent("invoice.payment_failed", { id: "in_1", text: "x".repeat(1024 * 1024) })
      assertError(yield* App.web(cardEventRequest(large)), { status: 413, code: "body_too_large" })
    })
  )

  it.effect("The card webhook logs neither the event nor the signature", () =>
    Effect.gen(function* () {
      const { logLines } = yield* App.TestApp
      const body = JSON.stringify(
        makeCardEvent("invoice.payment_failed", { id: "in_1", customer_email: "hunter2@example.com" })
      )
      const signature = signCardEvent(body, 1)
      yield* App.web({
        method: "POST",
        path: "/api/webhooks/cardProcessor",
        body,
        headers: { "cardProcessor-signature": signature }
      })
      const lines = (yield* logLines).join("\n")
      assert.include(lines, "An event of the card processor was refused")
      assert.notInclude(lines, "hunter2")
      assert.notInclude(lines, signature.slice(-64))
    })
  )
})

layer(App.layer({ cardEventSecret: null }), { excludeTestServices: true })("Without a secret", (it) => {
  it.effect("Every event is 500, with the name of the setting that is missing", () =>
    Effect.gen(function* () {
      const answer = yield* App.web(cardEventRequest(failed()))
      assertError(answer, { status: 500, code: "card_events_not_configured" })
      assert.include(String(answer.body["message"]), "STRIPE_WEBHOOK_SECRET")
    })
  )
})
