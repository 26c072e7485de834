import { CardProcessor, CardSubscriptionId, CustomerId } from "@berth/domain/billing/checkout/CardProcessor"
import { type Purchase } from "@berth/domain/billing/checkout/Purchase"
import {
  type CreditPack,
  creditPacks,
  findCreditPack,
  makePackPurchase
} from "@berth/domain/billing/credits/CreditPack"
import * as StripeCardProcessor from "@berth/infra/stripe/StripeCardProcessor"
import type { TestPortHandle } from "@berth/infra/testing/TestPort"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Exit, Layer, Option, Redacted, type Scope } from "effect"
import { randomUUID } from "node:crypto"
import { createServer } from "node:http"
import * as CardProcessorTest from "@berth/infra/stripe/CardProcessorTest"
import { type FakeStripe, makeFakeStripe } from "../fakes/stripe/FakeStripe.ts"
import { listenLocally } from "../support/LocalServer.ts"
import { UserId } from "@berth/domain/shared/UserId"
import { MinorUnits } from "@berth/domain/shared/Money"

interface Subject extends Omit<CardProcessorTest.InMemoryCardProcessor, keyof TestPortHandle<unknown, object>> {
  readonly cards: Context.Tag.Service<CardProcessor>
}

const cardsOf = (layer: Layer.Layer<CardProcessor>) =>
  Effect.map(Layer.build(layer), (context) => Context.get(context, CardProcessor))

const inMemory: Effect.Effect<Subject, never, Scope.Scope> = Effect.gen(function* () {
  const context = yield* Layer.build(CardProcessorTest.layer)
  return { ...Context.get(context, CardProcessorTest.CardProcessorTest), cards: Context.get(context, CardProcessor) }
})

const overHttp = (fake: Pick<FakeStripe, "url" | "secretKey">, timeout = 2_000) =>
  cardsOf(
    StripeCardProcessor.layer({
      apiUrl: fake.url,
      secretKey: Redacted.make(fake.secretKey),
      timeout,
      prices: { plans: {} }
    })
  )

const currencies: Readonly<Record<string, "USD" | "GBP">> = { usd: "USD", gbp: "GBP" }
const stripe: Effect.Effect<Subject, never, Scope.Scope> = Effect.gen(function* () {
  const fake = yield* makeFakeStripe
  const { intents, invoices, subscriptions } = fake.books
  return {
    cards: yield* overHttp(fake),
    saveCard: (customerId, behavior) => Effect.sync(() => fake.saveCard(customerId, behavior)),
    pay: (url) =>
      Effect.try({
        try: () => fake.completeCheckout(url),
        catch: (error) => new Error("It is over", { cause: error })
      }),
    purchased: (customerId) =>
      Effect.sync(() => ({
        charges: [
          ...[...intents.values()].filter(({ status }) => status === "succeeded"),
          ...[...invoices.values()].map(({ amount_paid: amount, currency, customer }) => ({
            amount,
            currency,
            customer
          }))
        ].flatMap(({ amount, currency, customer }) =>
          customer === customerId ? [{ amount: MinorUnits(amount), currency: currencies[currency] ?? "USD" }] : []
        ),
        running: [...subscriptions.values()].flatMap(({ customer, metadata, status }) =>
          customer === customerId && status !== "canceled"
            ? [{ kind: metadata["kind"] ?? null, plan: metadata["plan"] ?? null }]
            : []
        )
      })),
    decideDebits: (outcome) =>
      Effect.sync(() => {
        for (const { id, status } of intents.values()) if (status === "processing") fake.books.decideDebit(id, outcome)
      }),
    setUp: (isUp) => Effect.sync(() => fake.trouble(isUp ? null : "fails")),
    renew: (id) => Effect.sync(() => fake.books.renew(id, "paid"))
  }
})

const userId = UserId.make("usr_1")
const site = new URL("https://berth.example/")
const pack: CreditPack = Option.getOrThrow(findCreditPack("50"))
const purchase = makePackPurchase(pack)
const key = (): string => randomUUID()

const customerOf = ({ cards }: Subject, currency: "USD" | "GBP" = "USD") =>
  cards.createCustomer({ userId, email: "ada@example.com", currency, idempotencyKey: key() })

const checkout = ({ cards }: Subject, customerId: CustomerId, purchased: Purchase, idempotencyKey = key()) =>
  cards.createCheckout({ purchase: purchased, userId, customerId, successUrl: site, cancelUrl: site, idempotencyKey })

for (const [name, subject] of [
  ["in memory", inMemory],
  ["Stripe's, over HTTP", stripe]
] as const)
  describe(`CardProcessor ${name}`, () => {
    const test = (what: string, run: (subject: Subject) => Effect.Effect<void, unknown, Scope.Scope>) =>
      it.scopedLive(`CardProcessor ${name} ${what}`, () => Effect.flatMap(subject, run))

    test("creates a customer once per key, also for twenty concurrent calls", ({ cards }) =>
      Effect.gen(function* () {
        const create = (idempotencyKey: string) =>
          cards.createCustomer({ userId, email: "ada@example.com", currency: "USD", idempotencyKey })
        const ids = yield* Effect.all(
          Array.from({ length: 20 }, () => create("one")),
          { concurrency: "unbounded" }
        )
        assert.equal(new Set(ids).size, 1)
        assert.notEqual(yield* create("two"), ids[0])
      }))

    test("sells plans, storage and credits at one page per key", (subject) =>
      Effect.gen(function* () {
        const dollars = yield* customerOf(subject)
        const pounds = yield* customerOf(subject, "GBP")
        const pages = yield* Effect.all(
          Array.from({ length: 20 }, () => checkout(subject, dollars, { kind: "plan", plan: "starter" }, "one")),
          { concurrency: "unbounded" }
        )
        const [page] = pages
        assert.isTrue(page !== undefined && pages.every(({ href }) => href === page.href))
        if (page === undefined) return
        yield* subject.pay(page)
        assert.isTrue(Exit.isFailure(yield* Effect.exit(subject.pay(page))))
        yield* subject.pay(yield* checkout(subject, dollars, purchase))
        yield* subject.pay(yield* checkout(subject, pounds, { kind: "storage" }))
        assert.sameDeepMembers(
          [...(yield* subject.purchased(dollars)).charges],
          [
            { amount: 1_900, currency: "USD" },
            { amount: 500, currency: "USD" }
          ]
        )
        assert.deepEqual((yield* subject.purchased(pounds)).charges, [{ amount: MinorUnits(3_900), currency: "GBP" }])
        const running = yield* subject.cards.listSubscriptions(dollars)
        assert.deepEqual(
          running.map(({ isPaid, kind, plan }) => ({ isPaid, kind, plan })),
          [{ isPaid: true, kind: "plan", plan: "starter" }]
        )
        assert.deepEqual(
          (yield* subject.cards.listSubscriptions(pounds)).map(({ kind, plan }) => ({ kind, plan })),
          [{ kind: "storage", plan: null }]
        )
      }))

    test("charges a saved card once per key, and repeats its result", (subject) =>
      Effect.gen(function* () {
        const customerId = yield* customerOf(subject)
        const charge = (idempotencyKey: string) =>
          subject.cards.chargeSavedCard({ purchase, userId, customerId, idempotencyKey })
        assert.equal((yield* charge("none"))._tag, "NeedsCheckout")
        assert.isFalse(yield* subject.cards.hasSavedCard(customerId))
        yield* subject.saveCard(customerId)
        assert.isTrue(yield* subject.cards.hasSavedCard(customerId))
        const all = yield* Effect.all(
          Array.from({ length: 20 }, () => charge("one")),
          { concurrency: "unbounded" }
        )
        const ids = new Set(all.map((charged) => (charged._tag === "Paid" ? charged.paymentId : "none")))
        assert.equal(ids.size, 1)
        assert.deepEqual((yield* subject.purchased(customerId)).charges, [purchase.price])
        const found = yield* subject.cards.findCharge({ customerId, idempotencyKey: "one" })
        assert.deepEqual(
          Option.map(found, (charge) => (charge._tag === "Paid" ? charge.paymentId : charge._tag)),
          Option.fromNullable([...ids][0])
        )
        assert.isTrue(Option.isNone(yield* subject.cards.findCharge({ customerId, idempotencyKey: "other" })))
        // The customer's card changed; the payment remains successful.
        yield* subject.saveCard(customerId)
        const again = yield* charge("one")
        assert.isTrue(again._tag === "Paid" && ids.has(again.paymentId))
        assert.equal((yield* subject.purchased(customerId)).charges.length, 1)
      }))

    test("charges nothing when the card is declined, or requires its owner", (subject) =>
      Effect.gen(function* () {
        const customerId = yield* customerOf(subject)
        const charge = subject.cards.chargeSavedCard({ purchase, userId, customerId, idempotencyKey: "one" })
        yield* subject.saveCard(customerId, { declines: "insufficient_funds" })
        const refused = yield* Effect.flip(charge)
        assert.equal(refused._tag, "PurchaseDeclined")
        assert.equal(refused._tag === "PurchaseDeclined" ? refused.declineCode : "", "insufficient_funds")
        yield* subject.saveCard(customerId, { wantsAuthentication: true })
        const careful = subject.cards.chargeSavedCard({ purchase, userId, customerId, idempotencyKey: "two" })
        assert.equal((yield* careful)._tag, "NeedsCheckout")
        assert.isTrue(Option.isNone(yield* subject.cards.findCharge({ customerId, idempotencyKey: "one" })))
        assert.deepEqual((yield* subject.purchased(customerId)).charges, [])
      }))

    test("keeps a saved bank debit pending until the processor decides it", (subject) =>
      Effect.gen(function* () {
        const customerId = yield* customerOf(subject)
        yield* subject.saveCard(customerId, { isBankDebit: true })
        for (const outcome of ["succeeds", "fails"] as const) {
          const idempotencyKey = `debit-${outcome}`
          const find = Effect.map(
            subject.cards.findCharge({ customerId, idempotencyKey }),
            Option.map(({ _tag }) => _tag)
          )
          const charged = yield* subject.cards.chargeSavedCard({ purchase, userId, customerId, idempotencyKey })
          assert.equal(charged._tag, "UnderWay")
          assert.deepEqual(yield* find, Option.some("UnderWay" as const))
          yield* subject.decideDebits(outcome)
          assert.deepEqual(yield* find, outcome === "succeeds" ? Option.some("Paid" as const) : Option.none())
        }
        assert.deepEqual((yield* subject.purchased(customerId)).charges, [purchase.price])
      }))

    test("changes a plan within its currency, and ends it", (subject) =>
      Effect.gen(function* () {
        const customerId = yield* customerOf(subject)
        yield* subject.pay(yield* checkout(subject, customerId, { kind: "plan", plan: "starter" }))
        const [running] = yield* subject.cards.listSubscriptions(customerId)
        const id = running?.id ?? CardSubscriptionId.make("none")
        yield* subject.cards.updateSubscription({ id, plan: "scale", idempotencyKey: key() })
        assert.equal((yield* subject.cards.listSubscriptions(customerId))[0]?.plan, "scale")
        const toPounds = subject.cards.updateSubscription({ id, plan: "solo", idempotencyKey: key() })
        assert.equal((yield* Effect.flip(toPounds))._tag, "CardProcessorUnavailable")
        assert.include((yield* subject.cards.createPortalUrl(customerId, site)).protocol, "http")
        yield* subject.cards.cancelSubscription(id)
        yield* subject.cards.cancelSubscription(id)
        yield* subject.cards.cancelSubscription(CardSubscriptionId.make("sub_unknown"))
        assert.deepEqual(yield* subject.cards.listSubscriptions(customerId), [])
      }))

    test("keeps the plan until the paid period ends when a change is scheduled, and drops the schedule of an upgrade", (subject) =>
      Effect.gen(function* () {
        const customerId = yield* customerOf(subject)
        yield* subject.pay(yield* checkout(subject, customerId, { kind: "plan", plan: "pro" }))
        const [running] = yield* subject.cards.listSubscriptions(customerId)
        const id = running?.id ?? CardSubscriptionId.make("none")
        const planOf = Effect.map(subject.cards.listSubscriptions(customerId), ([first]) => first?.plan)
        const { charges } = yield* subject.purchased(customerId)
        yield* subject.cards.scheduleSubscriptionChange({ id, plan: "starter", idempotencyKey: key() })
        assert.strictEqual(yield* planOf, "pro")
        assert.deepStrictEqual((yield* subject.purchased(customerId)).charges, charges)
        yield* subject.renew(id)
        assert.strictEqual(yield* planOf, "starter")
        yield* subject.cards.updateSubscription({ id, plan: "scale", idempotencyKey: key() })
        yield* subject.cards.scheduleSubscriptionChange({ id, plan: "starter", idempotencyKey: key() })
        yield* subject.cards.scheduleSubscriptionChange({ id, plan: "pro", idempotencyKey: key() })
        yield* subject.cards.updateSubscription({ id, plan: "scale", idempotencyKey: key() })
        yield* subject.renew(id)
        assert.strictEqual(yield* planOf, "scale")
      }))

    test("expires the checkouts of a customer for a kind except one, and no others", (subject) =>
      Effect.gen(function* () {
        const customerId = yield* customerOf(subject)
        const older = yield* checkout(subject, customerId, { kind: "plan", plan: "starter" })
        const credits = yield* checkout(subject, customerId, purchase)
        const exceptKey = key()
        const newer = yield* subject.cards.createCheckout({
          purchase: { kind: "plan", plan: "pro" },
          userId: UserId.make("usr_1"),
          customerId,
          successUrl: site,
          cancelUrl: site,
          idempotencyKey: exceptKey
        })
        yield* subject.cards.expireCheckouts({ customerId, kind: "plan", exceptKey })
        assert.isTrue(Exit.isFailure(yield* Effect.exit(subject.pay(older))))
        yield* subject.pay(credits)
        yield* subject.pay(newer)
        yield* subject.cards.expireCheckouts({ customerId, kind: "plan", exceptKey: null })
        assert.deepStrictEqual((yield* subject.purchased(customerId)).running, [{ kind: "plan", plan: "pro" }])
      }))

    test("removes a customer with its subscriptions, idempotently", (subject) =>
      Effect.gen(function* () {
        const customerId = yield* customerOf(subject)
        yield* subject.pay(yield* checkout(subject, customerId, { kind: "plan", plan: "pro" }))
        const open = yield* checkout(subject, customerId, { kind: "storage" }).pipe(
          Effect.orElse(() => checkout(subject, customerId, purchase))
        )
        yield* subject.cards.removeCustomer(customerId)
        yield* subject.cards.removeCustomer(customerId)
        yield* subject.cards.removeCustomer(CustomerId.make("cus_unknown"))
        assert.deepEqual((yield* subject.purchased(customerId)).running, [])
        assert.isTrue(Exit.isFailure(yield* Effect.exit(subject.pay(open))))
      }))

    test("fails with CardCustomerMissing for a deleted customer", (subject) =>
      Effect.gen(function* () {
        const customerId = yield* customerOf(subject)
        yield* subject.saveCard(customerId)
        yield* subject.cards.removeCustomer(customerId)
        for (const gone of [customerId, CustomerId.make("cus_unknown")]) {
          assert.equal((yield* Effect.flip(checkout(subject, gone, purchase)))._tag, "CardCustomerMissing")
          assert.isFalse(yield* subject.cards.hasSavedCard(gone))
          assert.deepEqual(yield* subject.cards.listSubscriptions(gone), [])
          const charge = subject.cards.chargeSavedCard({ purchase, userId, customerId: gone, idempotencyKey: key() })
          assert.equal((yield* charge)._tag, "NeedsCheckout")
        }
      }))

    test("is unavailable while it is down", (subject) =>
      Effect.gen(function* () {
        const customerId = yield* customerOf(subject)
        yield* subject.setUp(false)
        const calls: ReadonlyArray<Effect.Effect<unknown, { readonly _tag: string }>> = [
          customerOf(subject),
          checkout(subject, customerId, purchase),
          subject.cards.chargeSavedCard({ purchase, userId, customerId, idempotencyKey: key() }),
          subject.cards.findCharge({ customerId, idempotencyKey: "one" }),
          subject.cards.listSubscriptions(customerId),
          subject.cards.removeCustomer(customerId)
        ]
        for (const call of calls) assert.equal((yield* Effect.flip(call))._tag, "CardProcessorUnavailable")
        yield* subject.setUp(true)
        yield* customerOf(subject)
      }))
  })

describe("CardProcessor over HTTP", () => {
  it.scopedLive("CardProcessor over HTTP retries requests without a response, and purchases once", () =>
    Effect.gen(function* () {
      const fake = yield* makeFakeStripe
      const cards = yield* overHttp(fake, 1_500)
      const customerId = yield* cards.createCustomer({
        userId,
        email: "a@example.com",
        currency: "USD",
        idempotencyKey: "a"
      })
      fake.saveCard(customerId)
      fake.trouble("does it and hangs", { path: "/v1/payment_intents", times: 1 })
      const charged = yield* cards.chargeSavedCard({ purchase, userId, customerId, idempotencyKey: "one" })
      assert.equal(charged._tag, "Paid")
      fake.trouble("hangs")
      const silent = cards.chargeSavedCard({ purchase, userId, customerId, idempotencyKey: "two" })
      assert.equal((yield* Effect.flip(silent))._tag, "CardProcessorUnavailable")
      fake.trouble(null)
      // A concurrent repetition waits for the first.
      fake.setResponseDelay(100)
      yield* Effect.all([silent, silent, silent], { concurrency: "unbounded" })
      assert.equal(fake.books.intents.size, 2)
    })
  )

  it.scopedLive("CardProcessor over HTTP sends the item of every purchase, and configured prices by id", () =>
    Effect.gen(function* () {
      const fake = yield* makeFakeStripe
      const { id } = fake.books.addPrice({
        currency: "gbp",
        unit_amount: 2_900,
        recurring: { interval: "month", interval_count: 1 }
      })
      const cards = yield* cardsOf(
        StripeCardProcessor.layer({
          apiUrl: fake.url,
          secretKey: Redacted.make(fake.secretKey),
          prices: { plans: { solo: id } }
        })
      )
      const customerId = yield* cards.createCustomer({
        userId,
        email: "a@example.com",
        currency: "GBP",
        idempotencyKey: "a"
      })
      const sell = (sold: Purchase, idempotencyKey = key()) =>
        cards.createCheckout({
          purchase: sold,
          userId,
          customerId,
          successUrl: site,
          cancelUrl: site,
          idempotencyKey
        })
      const page = yield* sell({ kind: "plan", plan: "solo" }, "req_plan")
      const session = fake.sessionAt(page)
      assert.deepEqual(session.metadata, { kind: "plan", plan: "solo", userId, attempt: "req_plan" })
      assert.equal(session.client_reference_id, userId)
      fake.completeCheckout(page)
      const [subscription] = fake.books.subscriptions.values()
      assert.equal(subscription?.items.data[0]?.price.id, id)
      assert.deepEqual(subscription?.metadata, { kind: "plan", plan: "solo", userId })
      for (const { credits, pack: name } of creditPacks) {
        const purchased = makePackPurchase(Option.getOrThrow(findCreditPack(name)))
        const attempt = `req_${name}`
        const credit = yield* sell(purchased, attempt)
        fake.completeCheckout(credit)
        const { amount_total, metadata, payment_intent } = fake.sessionAt(credit)
        assert.equal(amount_total, purchased.price.amount)
        const what = { kind: "credits", credits: String(credits), userId }
        assert.deepEqual(metadata, { ...what, attempt })
        assert.deepEqual(fake.books.intents.get(payment_intent ?? "")?.metadata, what)
      }
    })
  )

  it.scopedLive("CardProcessor over HTTP is unavailable when a success is no object of the API", () =>
    Effect.gen(function* () {
      for (const body of ["{}", "[]", '{"object":"list"}', "<p>welcome</p>", '"welcome"', "null", "1"]) {
        const url = yield* listenLocally(
          createServer((_, response) => response.writeHead(200, { "content-type": "application/json" }).end(body))
        )
        const cards = yield* overHttp({ url, secretKey: "sk_test_any" })
        const failures = [
          yield* Effect.flip(cards.listSubscriptions(CustomerId.make("cus_1"))),
          yield* Effect.flip(cards.hasSavedCard(CustomerId.make("cus_1"))),
          yield* Effect.flip(
            cards.createCustomer({ userId, email: "a@example.com", currency: "USD", idempotencyKey: "a" })
          )
        ]
        assert.deepStrictEqual(
          failures.map(({ _tag }) => _tag),
          ["CardProcessorUnavailable", "CardProcessorUnavailable", "CardProcessorUnavailable"],
          body
        )
      }
    })
  )

  it.scopedLive("CardProcessor over HTTP discloses no key and no person in errors", () =>
    Effect.gen(function* () {
      const fake = yield* makeFakeStripe
      const cards = yield* overHttp({ ...fake, secretKey: "sk_test_hunter2" })
      const wrong = yield* Effect.flip(
        cards.createCustomer({ userId, email: "secret@example.com", currency: "USD", idempotencyKey: "a" })
      )
      assert.notInclude(JSON.stringify(wrong), "hunter2")
      assert.notInclude(JSON.stringify(wrong), "sk_test")
      assert.notInclude(JSON.stringify(wrong), "secret@example.com")
      assert.isTrue(
        fake.received.every(
          ({ headers }) => !("traceparent" in headers || "b3" in headers || "x-stripe-client-telemetry" in headers)
        )
      )
    })
  )
})
