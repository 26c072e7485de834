import { PurchasedItem } from "@berth/domain/billing/events/PurchasedItem"
import type { PurchaseEvent, PurchaseEventType } from "@berth/domain/billing/events/CardEvent"
import { findEffectiveSubscription } from "@berth/domain/billing/events/EffectiveSubscription"
import { readCardEvent } from "@berth/domain/billing/events/CardEventReader"
import type { PaymentState } from "@berth/domain/billing/events/SubscriptionFacts"
import { assert, describe, it } from "@effect/vitest"
import { Either, FastCheck, Option } from "effect"
import { UserId } from "@berth/domain/shared/UserId"
import { Credits, MinorUnits } from "@berth/domain/shared/Money"

const prices = new Map<string, PurchasedItem>([
  ["price_label", PurchasedItem.Plan({ plan: "label" })],
  ["price_storage", PurchasedItem.Storage()],
  ["price_20", PurchasedItem.Credits({ credits: Credits(20) })]
])

const event = (type: PurchaseEventType, object: object, created = 1_000): PurchaseEvent => ({
  id: "evt_1",
  type,
  created,
  data: { object }
})

const read = (type: PurchaseEventType, object: object) => Either.getOrThrow(readCardEvent(event(type, object), prices))

const session = (object: object) => read("checkout.session.completed", { id: "cs_1", ...object })
const updated = (object: object) =>
  read("customer.subscription.updated", { id: "sub_1", customer: "cus_1", status: "active", ...object })

const soldOf = (fact: ReturnType<typeof read>) =>
  Option.getOrNull(Option.map(fact.subscription, ({ facts }) => facts.sold?.value ?? null))

const item = (price: object, more: object = {}) => ({ items: { data: [{ price, ...more }] } })

describe("Reading a completed checkout", () => {
  const plan = { mode: "subscription", subscription: "sub_1", customer: "cus_1", payment_status: "paid" }

  it("A completed checkout contains the subscription, its plan, its payer and its owner", () => {
    const fact = session({
      ...plan,
      client_reference_id: "usr_2",
      customer_details: { email: " A@Example.com " },
      metadata: { kind: "plan", plan: "pro", userId: "usr_1" }
    })
    assert.strictEqual(fact.payer, "cus_1")
    assert.deepStrictEqual(fact.userIds, [UserId.make("usr_1"), UserId.make("usr_2")])
    assert.deepStrictEqual(Option.getOrNull(fact.email), "A@Example.com")
    assert.strictEqual(Option.getOrThrow(fact.subscription).id, "sub_1")
    assert.strictEqual(soldOf(fact), "pro")
    assert.isFalse(fact.isUnclear)
  })

  it("A completed checkout without metadata has the plan of its amount in its currency", () => {
    const of = (amount_total: number, currency: string) => soldOf(session({ ...plan, amount_total, currency }))
    assert.deepStrictEqual(
      [of(2900, "gbp"), of(6900, "gbp"), of(14900, "gbp"), of(49900, "GBP")],
      ["solo", "collective", "label", "network"]
    )
    assert.deepStrictEqual([of(1900, "usd"), of(3900, "usd"), of(7900, "usd")], ["starter", "pro", "scale"])
    assert.deepStrictEqual([of(3900, "gbp"), of(2900, "usd"), of(1, "gbp")], ["storage", null, null])
  })

  it("A completed checkout grants nothing before it is paid", () => {
    const metadata = { kind: "plan", plan: "pro" }
    for (const payment_status of ["unpaid", "something else"]) {
      assert.isTrue(Option.isNone(session({ ...plan, payment_status, metadata }).subscription))
      const credits = { mode: "payment", payment_status, metadata: { kind: "credits", credits: "5" } }
      assert.isTrue(Option.isNone(session(credits).credits))
    }
    for (const payment_status of ["paid", "no_payment_required", null, undefined])
      assert.strictEqual(soldOf(session({ ...plan, payment_status, metadata })), "pro")
  })

  it("A completed checkout grants the credits of a delayed payment once it succeeds, under the checkout's causes", () => {
    const purchased = { mode: "payment", payment_intent: "pi_1", metadata: { kind: "credits", credits: "5" } }
    assert.isTrue(Option.isNone(session({ ...purchased, payment_status: "unpaid" }).credits))
    const succeeded = read("checkout.session.async_payment_succeeded", {
      id: "cs_1",
      ...purchased,
      payment_status: "paid"
    })
    assert.deepStrictEqual(succeeded.credits, session({ ...purchased, payment_status: "paid" }).credits)
  })

  it("A completed checkout whose delayed payment fails ends the attempt without a purchase", () => {
    const metadata = { kind: "plan", plan: "pro", attempt: "req_1" }
    const failed = read("checkout.session.async_payment_failed", {
      ...plan,
      id: "cs_1",
      payment_status: "unpaid",
      metadata
    })
    assert.deepStrictEqual(failed.failedAttempt, Option.some("req_1"))
    assert.isTrue(Option.isNone(failed.subscription) && Option.isNone(failed.credits) && !failed.isUnclear)
    // The type of the event decides, even if the session claims to be paid.
    assert.isTrue(Option.isNone(read("checkout.session.async_payment_failed", { id: "cs_1", ...plan }).subscription))
    assert.isTrue(Option.isNone(session({ ...plan, metadata }).failedAttempt))
  })

  it("A completed checkout of credits has every cause of the purchase, the payment's first", () => {
    const paid = { mode: "payment", payment_status: "paid", amount_total: 1500, currency: "usd" }
    const named = session({
      ...paid,
      payment_intent: "pi_1",
      invoice: { id: "in_1" },
      metadata: { kind: "credits", credits: "15" }
    })
    assert.deepStrictEqual(Option.getOrNull(named.credits), {
      names: ["pi_1", "in_1", "cs_1"],
      credits: Credits(15),
      paid: { amount: MinorUnits(1500), currency: "USD" }
    })
    assert.strictEqual(named.payer, "cs_1")
    const by = (object: object) =>
      Option.getOrNull(Option.map(session({ ...paid, ...object }).credits, ({ credits }) => credits))
    assert.deepStrictEqual([by({}), by({ amount_total: 3000 }), by({ amount_total: 500 })], [15, 30, 5])
    assert.isNull(by({ currency: "gbp" }))
    assert.isTrue(session({ ...paid, currency: "gbp" }).isUnclear)
    assert.strictEqual(by({ line_items: { data: [{ price: { id: "price_20" } }] } }), 20)
    for (const credits of ["-5", "0", "1e9", "NaN", "", "99999999"])
      assert.isNull(by({ currency: "eur", metadata: { kind: "credits", credits } }), credits)
  })

  it("A completed checkout that only saves a card is no purchase", () => {
    const fact = session({ mode: "setup", payment_status: "no_payment_required", customer: "cus_1" })
    assert.isTrue(Option.isNone(fact.subscription) && Option.isNone(fact.credits) && !fact.isUnclear)
  })

  it("A completed checkout without an id is identified by its event", () => {
    const minimal = { customer_email: "a@b.c", metadata: { plan: "solo" } }
    const fact = read("checkout.session.completed", minimal)
    assert.deepStrictEqual(fact, read("checkout.session.completed", { id: "evt_1", ...minimal }))
    assert.strictEqual(Option.getOrNull(Option.map(fact.subscription, ({ id }) => id)), "evt_1")
    assert.strictEqual(soldOf(fact), "solo")
    assert.strictEqual(Option.getOrNull(fact.email), "a@b.c")
  })

  it("A completed checkout without a subscription id uses the checkout's id for a monthly item", () => {
    const fact = session({ customer_email: "a@example.com", metadata: { plan: "solo" } })
    assert.strictEqual(Option.getOrThrow(fact.subscription).id, "cs_1")
    assert.strictEqual(soldOf(fact), "solo")
  })
})

describe("Reading a subscription", () => {
  it("A subscription event has the plan of its charged price, before that of its metadata", () => {
    const metadata = { kind: "plan", plan: "solo" }
    assert.strictEqual(soldOf(updated({ ...item({ id: "price_label" }), metadata })), "label")
    assert.strictEqual(
      soldOf(updated({ ...item({ id: "price_none", unit_amount: 7900, currency: "usd" }), metadata })),
      "solo"
    )
    assert.strictEqual(soldOf(updated(item({ id: "price_none", unit_amount: 7900, currency: "usd" }))), "scale")
    assert.strictEqual(soldOf(updated(item({ id: "price_storage" }))), "storage")
    for (const plan of ["free", "platinum", "__proto__"])
      assert.isNull(soldOf(updated({ metadata: { kind: "plan", plan } })))
    assert.isTrue(updated({}).isUnclear)
  })

  it("A subscription event without a status changes no state, and ends the subscription if it was deleted", () => {
    for (const [type, ended] of [
      ["customer.subscription.updated", false],
      ["customer.subscription.deleted", true]
    ] as const) {
      const { subscription } = read(type, { id: "sub_1", customer: "cus_1" })
      const facts = Option.getOrThrow(subscription).facts
      assert.deepStrictEqual([facts.state, facts.ended], [null, ended])
    }
  })

  it("A subscription event has the meaning of its status", () => {
    const stateOf = (status: string) => {
      const { facts } = Option.getOrThrow(updated({ status }).subscription)
      return facts.ended ? "ended" : (facts.state?.value ?? null)
    }
    assert.deepStrictEqual(
      ["active", "trialing", "past_due", "unpaid", "paused", "incomplete", "canceled", "incomplete_expired", "new"].map(
        stateOf
      ),
      ["active", "active", "past_due", "past_due", "past_due", "incomplete", "ended", "ended", null]
    )
  })

  it("A subscription event has the end of its paid period, also in the format of older API versions", () => {
    const end = (object: object) => Option.getOrThrow(updated(object).subscription).facts.periodEnd?.value ?? null
    assert.deepStrictEqual(
      [end(item({}, { current_period_end: 5 })), end({ current_period_end: 6 }), end({ current_period_end: null })],
      [5, 6, null]
    )
  })
})

describe("Reading an invoice", () => {
  it("An invoice event names its subscription in the format of every API version", () => {
    for (const object of [
      { subscription: "sub_1" },
      { subscription: { id: "sub_1" } },
      { parent: { subscription_details: { subscription: "sub_1" } } },
      { subscription_details: { subscription: "sub_1" } }
    ]) {
      const failed = read("invoice.payment_failed", { id: "in_1", customer: { id: "cus_1" }, ...object })
      assert.strictEqual(Option.getOrThrow(failed.subscription).id, "sub_1")
      assert.strictEqual(Option.getOrThrow(failed.subscription).facts.state?.value, "past_due")
      assert.isTrue(Option.isNone(failed.invoice))
      const paid = read("invoice.payment_succeeded", { id: "in_1", amount_paid: 1900, currency: "usd", ...object })
      assert.strictEqual(Option.getOrThrow(paid.subscription).facts.state?.value, "active")
      assert.deepStrictEqual(Option.getOrNull(paid.invoice), {
        id: "in_1",
        payments: [],
        sold: null,
        amount: MinorUnits(1900),
        currency: "USD"
      })
    }
  })

  it("An invoice event without a subscription grants credits under the same causes as its checkout", () => {
    const metadata = { kind: "credits", credits: "5" }
    const names = (object: object) =>
      Option.getOrNull(
        Option.map(read("invoice.payment_succeeded", { id: "in_1", metadata, ...object }).credits, (one) => one.names)
      )
    assert.deepStrictEqual(names({}), ["in_1"])
    assert.deepStrictEqual(names({ payment_intent: "pi_1" }), ["pi_1", "in_1"])
    assert.deepStrictEqual(names({ payments: { data: [{ payment: { payment_intent: "pi_1" } }] } }), ["pi_1", "in_1"])
    assert.isNull(names({ subscription: "sub_1" }))
  })
})

describe("An event with an object of another type", () => {
  it("An event with an object of another type is unreadable, and the error names members only", () => {
    const refused = readCardEvent(event("customer.subscription.updated", { id: 7, status: "hunter2" }), prices)
    assert.strictEqual(Either.getOrThrow(Either.flip(refused)).reason, "id")
  })

  it("An event is read or rejected, whatever it contains", () => {
    FastCheck.assert(
      FastCheck.property(
        FastCheck.constantFrom<PurchaseEventType>(
          "checkout.session.completed",
          "customer.subscription.updated",
          "invoice.payment_succeeded"
        ),
        FastCheck.object({
          key: FastCheck.constantFrom("id", "status", "customer", "subscription", "metadata", "items", "data", "price"),
          maxDepth: 3
        }),
        (type, object) => {
          readCardEvent(event(type, object), prices)
        }
      ),
      { numRuns: 1_000 }
    )
  })
})

describe("The subscription that counts", () => {
  interface ToldAs {
    readonly ended: boolean
    readonly startedAt: number
    readonly state: PaymentState
  }
  const subscriptionEvent = (id: string, { ended = false, startedAt = 1, state = "active" }: Partial<ToldAs>) => {
    const moment = { strength: 2, created: 1, weight: 1, id: "evt_1" }
    return {
      id,
      payer: "cus_1",
      userId: UserId.make("usr_1"),
      facts: {
        sold: { value: "pro" as const, moment },
        state: { value: state, moment },
        periodEnd: null,
        owner: null,
        ended,
        startedAt,
        lastEventAt: 9
      }
    }
  }
  const counts = (...all: ReadonlyArray<ReturnType<typeof subscriptionEvent>>) =>
    Option.match(findEffectiveSubscription(all), {
      onNone: () => "none",
      onSome: ({ id, status }) => `${id} ${status}`
    })

  it("The effective subscription is the newest paid one, else the newest pending one, else the newest ended one", () => {
    const [old, young] = [subscriptionEvent("sub_1", { startedAt: 1 }), subscriptionEvent("sub_2", { startedAt: 2 })]
    assert.strictEqual(counts(old, young), "sub_2 active")
    assert.strictEqual(counts(young, old), "sub_2 active")
    assert.strictEqual(counts(old, subscriptionEvent("sub_2", { startedAt: 2, ended: true })), "sub_1 active")
    assert.strictEqual(counts(old, subscriptionEvent("sub_2", { startedAt: 2, state: "past_due" })), "sub_1 active")
    assert.strictEqual(
      counts(
        subscriptionEvent("sub_1", { ended: true }),
        subscriptionEvent("sub_2", { startedAt: 2, state: "past_due" })
      ),
      "sub_2 past_due"
    )
    assert.strictEqual(counts(subscriptionEvent("sub_1", { ended: true })), "sub_1 canceled")
  })

  it("The effective subscription is none that was never paid, and no checkout with a known subscription", () => {
    assert.strictEqual(counts(), "none")
    assert.strictEqual(counts(subscriptionEvent("sub_1", { state: "incomplete" })), "none")
    assert.strictEqual(counts(subscriptionEvent("cs_1", {})), "cs_1 active")
    assert.strictEqual(
      counts(subscriptionEvent("cs_1", { startedAt: 9 }), subscriptionEvent("sub_1", { ended: true })),
      "sub_1 canceled"
    )
  })
})
