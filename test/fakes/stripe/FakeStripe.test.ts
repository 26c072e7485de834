import { assert, it } from "@effect/vitest"
import { Effect, type Scope } from "effect"
import { createServer } from "node:http"
import { text } from "node:stream/consumers"
import Stripe from "stripe"
import { listenLocally } from "../../support/LocalServer.ts"
import { parseStripeForm } from "./StripeForm.ts"
import { type FakeStripe, makeFakeStripe } from "./FakeStripe.ts"
import { signWebhook } from "./StripeWebhooks.ts"

/** The official client, connected to the fake. */
const clientOf = ({ secretKey, url }: FakeStripe, timeout = 5_000, maxNetworkRetries = 0) =>
  new Stripe(secretKey, {
    host: url.hostname,
    port: url.port,
    protocol: "http",
    telemetry: false,
    timeout,
    maxNetworkRetries
  })

const withStripe = <A, E>(
  run: (fake: FakeStripe, stripe: Stripe) => Effect.Effect<A, E, Scope.Scope>
): Effect.Effect<A, E> => Effect.scoped(Effect.flatMap(makeFakeStripe, (fake) => run(fake, clientOf(fake))))

const refusal = (call: () => Promise<unknown>) =>
  Effect.promise(() =>
    call().then(
      () => Promise.reject(new Error("It was taken")),
      (error: unknown) =>
        error instanceof Stripe.errors.StripeError ? error : Promise.reject(new Error("It failed", { cause: error }))
    )
  )

const monthly = (currency: string, amount: number) => ({
  quantity: 1,
  price_data: {
    currency,
    unit_amount: amount,
    recurring: { interval: "month" as const },
    product_data: { name: "Solo" }
  }
})

const planCheckout = (customer?: string) => ({
  mode: "subscription" as const,
  line_items: [monthly("gbp", 2900)],
  success_url: "https://berth.example/onboarding",
  cancel_url: "https://berth.example/pricing",
  client_reference_id: "usr_1",
  metadata: { kind: "plan", plan: "solo", userId: "usr_1" },
  subscription_data: { metadata: { kind: "plan", plan: "solo", userId: "usr_1" } },
  ...(customer === undefined ? { customer_email: "ada@example.com" } : { customer })
})

it("FakeStripe parses nested form fields", () => {
  assert.deepEqual(parseStripeForm("a=1&b[c]=2&d[0][e][f]=3&d[1][e]=4"), {
    a: "1",
    b: { c: "2" },
    d: { "0": { e: { f: "3" } }, "1": { e: "4" } }
  })
})

it.live("FakeStripe sells a plan to the official client, and sends events of its types", () =>
  withStripe((fake, stripe) =>
    Effect.gen(function* () {
      const session = yield* Effect.promise(() => stripe.checkout.sessions.create(planCheckout()))
      assert.equal(session.status, "open")
      assert.equal(session.amount_total, 2900)
      const events = fake.completeCheckout(session.url ?? "")
      assert.deepEqual(
        events.map(({ type }) => type),
        ["customer.subscription.created", "invoice.payment_succeeded", "checkout.session.completed"]
      )
      const paid = yield* Effect.promise(() => stripe.checkout.sessions.retrieve(session.id))
      assert.equal(paid.payment_status, "paid")
      assert.equal(paid.customer_details?.email, "ada@example.com")
      const id = typeof paid.subscription === "string" ? paid.subscription : ""
      const subscription = yield* Effect.promise(() => stripe.subscriptions.retrieve(id))
      const [item] = subscription.items.data
      assert.isAbove(item?.current_period_end ?? 0, fake.now())
      assert.equal(subscription.metadata.userId, "usr_1")
      assert.equal(fake.renew(id, "fails").length, 2)
      assert.equal((yield* Effect.promise(() => stripe.subscriptions.retrieve(id))).status, "past_due")
      const other = yield* Effect.promise(() =>
        stripe.prices.create({
          currency: "gbp",
          unit_amount: 6900,
          recurring: { interval: "month" },
          product_data: { name: "Collective" }
        })
      )
      const changed = yield* Effect.promise(() =>
        stripe.subscriptions.update(id, {
          items: [{ id: item?.id ?? "", price: other.id }],
          metadata: { plan: "collective" }
        })
      )
      assert.equal(changed.items.data[0]?.price.unit_amount, 6900)
      assert.equal((yield* Effect.promise(() => stripe.subscriptions.cancel(id))).status, "canceled")
      assert.equal((yield* refusal(() => stripe.subscriptions.cancel(id))).code, "resource_missing")
      const listed = yield* Effect.promise(() => stripe.events.list({ limit: 100 }))
      assert.equal(listed.data.length, fake.events.length)
    })
  )
)

it.live("FakeStripe charges a saved card once per key, and declines", () =>
  withStripe((fake, stripe) =>
    Effect.gen(function* () {
      const customer = yield* Effect.promise(() => stripe.customers.create({ email: "ada@example.com" }))
      const saved = fake.saveCard(customer.id)
      const charge = (key: string, amount = 500, method = saved.id) =>
        stripe.paymentIntents.create(
          { amount, currency: "usd", customer: customer.id, payment_method: method, confirm: true, off_session: true },
          { idempotencyKey: key }
        )
      const [first, ...more] = yield* Effect.promise(() => Promise.all(Array.from({ length: 20 }, () => charge("one"))))
      assert.equal(first?.status, "succeeded")
      assert.isTrue(more.every(({ id }) => id === first?.id))
      assert.equal(fake.books.intents.size, 1)
      assert.equal((yield* refusal(() => charge("one", 501))).rawType, "idempotency_error")
      const [method] = (yield* Effect.promise(() => stripe.customers.listPaymentMethods(customer.id))).data
      assert.equal(method?.id, saved.id)

      const poor = fake.saveCard(customer.id, { declines: "insufficient_funds" })
      const declined = yield* refusal(() => charge("two", 500, poor.id))
      assert.instanceOf(declined, Stripe.errors.StripeCardError)
      assert.equal(declined.decline_code, "insufficient_funds")
      const careful = fake.saveCard(customer.id, { wantsAuthentication: true })
      assert.equal((yield* refusal(() => charge("three", 500, careful.id))).code, "authentication_required")
    })
  )
)

it.live("FakeStripe rejects the requests that the processor rejects", () =>
  withStripe((fake, stripe) =>
    Effect.gen(function* () {
      const [line] = planCheckout().line_items
      assert.equal((yield* refusal(() => stripe.customers.retrieve("cus_unknown"))).statusCode, 404)
      const wrongs = [
        { ...planCheckout(), success_url: "" },
        { ...planCheckout(), line_items: [] },
        { ...planCheckout(), customer: "cus_unknown", customer_email: "" },
        { ...planCheckout(), mode: "payment" as const },
        { ...planCheckout(), line_items: [{ price: "price_unknown", quantity: 1 }] },
        {
          ...planCheckout(),
          line_items: line === undefined ? [] : [{ ...line, price_data: { ...line.price_data, unit_amount: 1.5 } }]
        }
      ]
      for (const wrong of wrongs)
        assert.equal((yield* refusal(() => stripe.checkout.sessions.create(wrong))).statusCode, 400)
      assert.equal(fake.books.sessions.size, 0)

      const customer = yield* Effect.promise(() => stripe.customers.create({ email: "ada@example.com" }))
      const session = yield* Effect.promise(() => stripe.checkout.sessions.create(planCheckout(customer.id)))
      fake.completeCheckout(session.url ?? "")
      const dollars = { ...planCheckout(customer.id), line_items: [monthly("usd", 1900)] }
      assert.include((yield* refusal(() => stripe.checkout.sessions.create(dollars))).message, "combine currencies")
      const stranger = clientOf({ ...fake, secretKey: "sk_test_stranger" })
      assert.instanceOf(yield* refusal(() => stranger.customers.create({})), Stripe.errors.StripeAuthenticationError)
    })
  )
)

it.live("FakeStripe fails on request, and repeats a lost response", () =>
  withStripe((fake) =>
    Effect.gen(function* () {
      const stripe = clientOf(fake, 300, 2)
      fake.trouble("does it and is cut", { path: "/v1/customers", times: 1 })
      const customer = yield* Effect.promise(() =>
        stripe.customers.create({ email: "ada@example.com" }, { idempotencyKey: "one" })
      )
      assert.equal(fake.books.customers.size, 1)
      assert.isTrue(fake.books.customers.has(customer.id))
      assert.equal(fake.received.length, 2)
      for (const how of ["hangs", "fails", "is cut", "limits"] as const) {
        fake.trouble(how)
        yield* refusal(() => clientOf(fake, 300).customers.create({}))
      }
      assert.equal(fake.books.customers.size, 1)
      fake.trouble(null)
      yield* Effect.promise(() => stripe.customers.create({}))
    })
  )
)

it.live("FakeStripe signs its events for the official client", () =>
  withStripe((fake, stripe) =>
    Effect.gen(function* () {
      const session = yield* Effect.promise(() => stripe.checkout.sessions.create(planCheckout()))
      const events = fake.completeCheckout(session.url ?? "")
      const believed: Array<string> = []
      const to = yield* listenLocally(
        createServer((request, response) => {
          const header = request.headers["stripe-signature"] ?? request.headers["cardprocessor-signature"] ?? ""
          void text(request).then((body) => {
            try {
              believed.push(stripe.webhooks.constructEvent(body, header, fake.webhookSecret).id)
              response.writeHead(200).end()
            } catch {
              response.writeHead(400).end()
            }
          })
        })
      )
      assert.deepEqual(yield* fake.deliver(events.toReversed(), { to }), [200, 200, 200])
      assert.deepEqual(yield* fake.deliver(events, { to, header: "cardProcessor-signature" }), [200, 200, 200])
      assert.deepEqual(yield* fake.deliver(events, { to, at: fake.now() - 400 }), [400, 400, 400])
      assert.deepEqual(yield* fake.deliver(events, { to, secret: "whsec_other" }), [400, 400, 400])
      const ids = events.map(({ id }) => id)
      assert.deepEqual(believed, [...ids.toReversed(), ...ids])
      const both = signWebhook("{}", { secret: "whsec_old", alsoBy: fake.webhookSecret, at: fake.now() })
      assert.doesNotThrow(() => stripe.webhooks.constructEvent("{}", both, fake.webhookSecret))
    })
  )
)

it.live("FakeStripe accepts a payment on its checkout page", () =>
  withStripe((fake, stripe) =>
    Effect.gen(function* () {
      const session = yield* Effect.promise(() => stripe.checkout.sessions.create(planCheckout()))
      const pay = () => Effect.promise(() => fetch(session.url ?? "", { method: "POST", redirect: "manual" }))
      const answer = yield* pay()
      assert.equal(answer.headers.get("location"), "https://berth.example/onboarding")
      assert.equal(fake.events.length, 3)
      assert.equal((yield* pay()).status, 404)
    })
  )
)
