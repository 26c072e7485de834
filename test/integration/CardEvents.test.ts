import { Email } from "@berth/domain/shared/Email"
import { UserRepository } from "@berth/domain/accounts/UserRepository"
import { AgentRepository } from "@berth/domain/agents/AgentRepository"
import { CardProcessor } from "@berth/domain/billing/checkout/CardProcessor"
import {
  type CardEvent,
  type CardEventEnvelope,
  type CardEventType,
  isCardEvent
} from "@berth/domain/billing/events/CardEvent"
import { CardEventEffects } from "@berth/domain/billing/events/CardEventEffects"
import { PurchaseAttempts } from "@berth/domain/billing/checkout/PurchaseAttempts"
import { findPurchaseCurrency, type Purchase } from "@berth/domain/billing/checkout/Purchase"
import { makePackPurchase } from "@berth/domain/billing/credits/CreditPack"
import { StorageEntitlements } from "@berth/domain/billing/storage/StorageEntitlements"
import { SubscriptionRepository } from "@berth/domain/billing/subscriptions/SubscriptionRepository"
import { convertUnitsToCredits, Units, Credits } from "@berth/domain/shared/Money"
import { Outbox } from "@berth/domain/jobs/Outbox"
import * as StripeCardProcessor from "@berth/infra/stripe/StripeCardProcessor"
import { SqlClient } from "@effect/sql/SqlClient"
import { assert, describe, it } from "@effect/vitest"
import { Context, DateTime, Duration, Effect, FastCheck, Layer, Option, Redacted, type Scope } from "effect"
import { makeInMemoryCardRecords, cardRecordUsers } from "../support/billing/InMemoryCardRecords.ts"
import { cardEventArrival } from "../support/billing/CardEventHistories.ts"
import {
  type CardEventWorker,
  makeCardEventWorker,
  storeCardEvents,
  processCardJobs
} from "../support/billing/CardEventWorkers.ts"
import { migratedDatabase } from "../support/MigratedDatabase.ts"
import { makeFakeStripe } from "../fakes/stripe/FakeStripe.ts"
import { insertAgent, insertUser, uniqueName } from "../support/Samples.ts"
import { UserId } from "@berth/domain/shared/UserId"
import { SendMailJob } from "@berth/domain/mail/MailOutbox"
import { ReconfigureInstanceJob } from "@berth/domain/agents/AgentJobs"
import { EmailAddressConfirmedJob } from "@berth/domain/accounts/AccountJobs"
import { sql } from "../support/Sql.ts"

let made = 0
const event = (type: CardEventType, created: number, object: object): CardEvent => {
  made += 1
  return { id: `evt_${process.pid}_${made}`, type, created, data: { object } }
}

const handled = (events: ReadonlyArray<CardEventEnvelope>) => events.filter(isCardEvent)

const subscribed = (id: string, userId: string | null, customer = `cus_of_${id}`) => {
  const of = (plan: string) => ({ metadata: { kind: "plan", plan, ...(userId === null ? {} : { userId }) } })
  return {
    purchased: (created: number, plan: string, email: string | null = null) =>
      event("checkout.session.completed", created, {
        id: `cs_${id}`,
        mode: "subscription",
        payment_status: "paid",
        customer,
        subscription: id,
        customer_details: { email },
        ...of(plan)
      }),
    is: (created: number, status: string, plan: string, type: "created" | "updated" | "deleted" = "updated") =>
      event(`customer.subscription.${type}`, created, {
        id,
        customer,
        status,
        created: 1,
        items: { data: [{ current_period_end: 2_000_000_000 }] },
        ...of(plan)
      }),
    charged: (created: number, outcome: "succeeded" | "failed") =>
      event(`invoice.payment_${outcome}`, created, {
        id: `in_${id}_${created}`,
        customer,
        amount_paid: outcome === "succeeded" ? 1900 : 0,
        currency: "usd",
        parent: { subscription_details: { subscription: id } }
      })
  }
}

const makeFixtures = (options: { readonly workers?: number; readonly verifiedEmailsOnly?: boolean } = {}) =>
  Effect.gen(function* () {
    const url = yield* migratedDatabase
    const worker = makeCardEventWorker(url, { verifiedEmailsOnly: options.verifiedEmailsOnly ?? false })
    const [first, ...more] = [yield* worker, ...(yield* Effect.replicateEffect(worker, (options.workers ?? 2) - 1))]
    const workers: readonly [CardEventWorker, ...ReadonlyArray<CardEventWorker>] = [first, ...more]
    const inside = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.provide(effect, first)
    return {
      inside,
      first,
      tell: (...events: ReadonlyArray<CardEvent>) =>
        Effect.zipRight(inside(storeCardEvents(events)), processCardJobs(workers)),
      work: processCardJobs(workers),
      subscription: (userId: UserId) =>
        inside(
          Effect.map(
            Effect.flatMap(SubscriptionRepository, ({ find }) => find(userId)),
            Option.match({ onNone: () => "none", onSome: ({ plan, status }) => `${plan} ${status}` })
          )
        ),
      user: (userId: UserId) => inside(Effect.flatMap(UserRepository, ({ find }) => Effect.flatten(find(userId)))),
      tier: (userId: UserId) => inside(Effect.flatMap(StorageEntitlements, (storage) => storage.find(userId))),
      agents: (userId: UserId) =>
        inside(
          Effect.map(
            Effect.flatMap(AgentRepository, ({ listOwned }) => listOwned(userId)),
            (agents) => agents.map(({ name, status }) => `${name} ${status}`).toSorted()
          )
        )
    }
  })

const test = <E>(name: string, body: Effect.Effect<void, E, Scope.Scope>) =>
  it.scopedLive(`Card events ${name}`, () => body, 120_000)

const namesOf = (jobs: ReadonlyArray<{ readonly name: string }>) => jobs.map(({ name }) => name).toSorted()

describe("Events of the card processor, by several workers at once,", () => {
  test(
    "have the same result as in memory, in any order and repetition",
    Effect.gen(function* () {
      const { inside, tell, tier, user } = yield* makeFixtures({ workers: 3 })
      const sql = yield* inside(SqlClient)
      const users = yield* inside(UserRepository)
      for (const id of cardRecordUsers) {
        const name = id.slice(4)
        const email = Email.make(`${name}@example.com`)
        yield* users.insert({ id, email, name, passwordHash: null, referralCode: `code-${name}` })
      }
      for (const { arrived } of FastCheck.sample(cardEventArrival, { numRuns: 8, seed: 1_234 })) {
        yield* sql`truncate card_events, card_payers, card_subscriptions, card_purchases, subscriptions, purchases,
            purchase_reversals, storage_entitlements`
        yield* sql`update users set credit_units = 0, reversed_units = 0, plan = 'free'`
        const books = makeInMemoryCardRecords()
        for (const one of arrived) books.apply(one)
        const expected = books.state()

        yield* tell(...arrived)

        for (const [index, id] of cardRecordUsers.entries()) {
          const { counting, storage, units } = expected.users[index] ?? assert.fail("a user without a state")
          const found = yield* user(id)
          assert.strictEqual(found.credits, convertUnitsToCredits(Units(units.reduce((sum, one) => sum + one, 0))))
          assert.strictEqual(found.plan, counting?.status === "active" ? counting.plan : "free")
          assert.strictEqual(yield* tier(id), storage ? "upgraded" : "included")
          const rows = yield* sql`
            select plan, status, customer_id, subscription_id from subscriptions where user_id = ${id}`
          // A subscription that is reassigned leaves a canceled one behind.
          if (counting !== null)
            assert.deepStrictEqual(rows, [
              {
                plan: counting.plan,
                status: counting.status,
                customerId: counting.payer,
                subscriptionId: counting.id
              }
            ])
          else assert.isTrue(rows.every(({ status }) => status === "canceled"))
        }
        const parked = yield* sql`select id from card_events where status = 'unmatched' order by id`
        assert.deepStrictEqual(new Set(parked.map(({ id }) => id)), new Set(expected.parked))
        const [unbalanced] = yield* sql`select coalesce(sum(units), 0)::int as sum from ledger_entries`
        assert.deepStrictEqual(unbalanced, { sum: 0 })
      }
    })
  )

  test(
    "book credits once, for any sender and repetition",
    Effect.gen(function* () {
      const { first, inside, tell, user } = yield* makeFixtures({ workers: 3 })
      const { id } = yield* inside(insertUser())
      const metadata = { kind: "credits", credits: "15", userId: id }
      const paid = { customer: "cus_1", metadata, amount_total: 1500, amount_paid: 1500, currency: "usd" }
      const eventsAt = (created: number) => [
        event("invoice.payment_succeeded", created, { ...paid, id: "in_1" }),
        event("checkout.session.completed", created, {
          ...paid,
          id: "cs_1",
          mode: "payment",
          payment_status: "paid",
          payment_intent: "pi_1",
          invoice: "in_1"
        })
      ]
      yield* tell(...eventsAt(1), ...eventsAt(2), ...eventsAt(3), ...eventsAt(4), ...eventsAt(5))
      assert.strictEqual((yield* user(id)).credits, 15)
      const [bookings] = yield* Effect.provide(
        sql`select count(*)::int as count from purchases where user_id = ${id}`,
        first
      )
      assert.deepStrictEqual(bookings, { count: 1 })
    })
  )

  test(
    "book credits of a delayed payment once it has succeeded, in any order, and end the attempt of one that failed",
    Effect.gen(function* () {
      const { inside, tell, user } = yield* makeFixtures({ workers: 3 })
      const { id } = yield* inside(insertUser())
      const { begin } = yield* inside(PurchaseAttempts)
      const attempt = yield* begin({
        userId: id,
        operation: "checkout:credits",
        charge: null,
        reference: Option.some("order-1"),
        repeatWindow: Duration.zero
      })
      const deliverEvent = (what: "completed" | "async_payment_succeeded" | "async_payment_failed", name: string) =>
        event(`checkout.session.${what}`, 10, {
          id: `cs_${name}`,
          mode: "payment",
          payment_status: what === "async_payment_succeeded" ? "paid" : "unpaid",
          payment_intent: `pi_${name}`,
          customer: "cus_1",
          amount_total: 1500,
          currency: "usd",
          metadata: { kind: "credits", credits: "15", userId: id, attempt: attempt.id }
        })
      yield* tell(deliverEvent("completed", "failed"), deliverEvent("async_payment_failed", "failed"))
      const sql = yield* inside(SqlClient)
      assert.deepStrictEqual(yield* sql`select state from purchase_attempts where id = ${attempt.id}`, [
        { state: "refused" }
      ])
      yield* tell(deliverEvent("completed", "early"))
      assert.strictEqual((yield* user(id)).credits, 0)
      const succeeded = deliverEvent("async_payment_succeeded", "early")
      yield* tell(
        succeeded,
        succeeded,
        deliverEvent("async_payment_succeeded", "early"),
        deliverEvent("completed", "early")
      )
      assert.strictEqual((yield* user(id)).credits, 15)
      yield* tell(deliverEvent("async_payment_succeeded", "late"), deliverEvent("completed", "late"))
      assert.strictEqual((yield* user(id)).credits, 30)
    })
  )

  test(
    "grant a plan and storage whose delayed payment is followed by the subscription and its invoice",
    Effect.gen(function* () {
      const { inside, subscription, tell, tier } = yield* makeFixtures()
      const { id } = yield* inside(insertUser())
      const deliverEvent = (
        what: "completed" | "async_payment_succeeded" | "async_payment_failed",
        name: string,
        sold: object
      ) =>
        event(`checkout.session.${what}`, 10, {
          id: `cs_${name}`,
          mode: "subscription",
          payment_status: what === "async_payment_succeeded" ? "paid" : "unpaid",
          subscription: `sub_${name}`,
          customer: "cus_1",
          metadata: { ...sold, userId: id }
        })
      const { charged, is } = subscribed("sub_plan", id, "cus_1")
      yield* tell(
        deliverEvent("completed", "plan", { kind: "plan", plan: "pro" }),
        is(10, "incomplete", "pro", "created")
      )
      assert.strictEqual(yield* subscription(id), "none")
      yield* tell(deliverEvent("async_payment_succeeded", "plan", { kind: "plan", plan: "pro" }))
      assert.strictEqual(yield* subscription(id), "pro active")
      yield* tell(charged(20, "failed"), deliverEvent("async_payment_failed", "plan", { kind: "plan", plan: "pro" }))
      assert.strictEqual(yield* subscription(id), "pro past_due")
      const storage = { kind: "storage" }
      yield* tell(
        deliverEvent("completed", "storage", storage),
        deliverEvent("async_payment_failed", "storage", storage)
      )
      assert.strictEqual(yield* tier(id), "included")
      yield* tell(deliverEvent("async_payment_succeeded", "disk", storage), deliverEvent("completed", "disk", storage))
      assert.strictEqual(yield* tier(id), "upgraded")
    })
  )

  test(
    "reverse the credits of refunded and disputed payments in proportion, before or after they are booked",
    Effect.gen(function* () {
      const { inside, tell, user } = yield* makeFixtures({ workers: 3 })
      const { id } = yield* inside(insertUser())
      const paid = { customer: "cus_1", currency: "usd", metadata: { kind: "credits", credits: "15", userId: id } }
      const invoice = event("invoice.payment_succeeded", 10, { ...paid, id: "in_1", amount_paid: 1500 })
      const session = event("checkout.session.completed", 10, {
        ...paid,
        id: "cs_1",
        mode: "payment",
        payment_status: "paid",
        amount_total: 1500,
        payment_intent: "pi_1",
        invoice: "in_1"
      })
      const refunded = (amount_refunded: number) =>
        event("charge.refunded", 20, { id: "ch_1", payment_intent: "pi_1", amount: 1500, amount_refunded })
      const disputed = (what: "created" | "closed", status: string) =>
        event(`charge.dispute.${what}`, 30, {
          id: "dp_1",
          charge: "ch_1",
          payment_intent: { id: "pi_1" },
          amount: 1000,
          status
        })
      const credits = Effect.map(user(id), (found) => found.credits)
      const half = refunded(500)
      // The invoice has its own name, which only the checkout links to the payment.
      yield* tell(half, invoice)
      assert.strictEqual(yield* credits, 15)
      yield* tell(session, half)
      assert.strictEqual(yield* credits, 10)
      const sql = yield* inside(SqlClient)
      yield* sql`update users set credit_units = 0 where id = ${id}`
      yield* tell(disputed("created", "needs_response"))
      assert.strictEqual(yield* credits, -10)
      yield* tell(disputed("closed", "won"), disputed("created", "needs_response"), refunded(500))
      assert.strictEqual(yield* credits, 0)
      yield* tell(refunded(1500))
      assert.strictEqual(yield* credits, -10)
      const kept = sql`select count(*)::int from card_events where type like 'charge.%' and payload is not null`
      assert.deepStrictEqual(yield* kept, [{ count: 0 }])
    })
  )

  test(
    "record refunds and disputes of a paid month of a plan, before or after it, and move no credits",
    Effect.gen(function* () {
      const { inside, subscription, tell, user } = yield* makeFixtures({ workers: 3 })
      const { id } = yield* inside(insertUser())
      const paid = (month: number) =>
        event("invoice.payment_succeeded", month, {
          id: `in_${month}`,
          customer: "cus_1",
          subscription: "sub_1",
          payments: { data: [{ payment: { payment_intent: `pi_${month}` } }] },
          amount_paid: 2900,
          currency: "gbp",
          metadata: { kind: "plan", plan: "solo", userId: id }
        })
      const refunded = (month: number, amount: number) =>
        event("charge.refunded", month, { id: `ch_${month}`, payment_intent: `pi_${month}`, amount_refunded: amount })
      const disputed = (month: number, status: string) =>
        event(`charge.dispute.${status === "won" ? "closed" : "created"}`, month, {
          id: `dp_${month}`,
          charge: `ch_${month}`,
          payment_intent: `pi_${month}`,
          amount: 2900,
          status
        })
      yield* tell(paid(1), refunded(2, 900), disputed(3, "needs_response"))
      yield* tell(refunded(1, 2900), paid(2), paid(3))
      const sql = yield* inside(SqlClient)
      const reversed = Effect.map(
        sql<{ amount: number }>`
          select reversed_amount::int as amount from purchases where booked_at is not null order by cause`,
        (rows) => rows.map(({ amount }) => amount)
      )
      assert.deepStrictEqual(yield* reversed, [2900, 900, 2900])
      yield* tell(disputed(3, "won"), refunded(1, 2900))
      assert.deepStrictEqual(yield* reversed, [2900, 900, 0])
      assert.strictEqual((yield* user(id)).credits, 0)
      assert.strictEqual(yield* subscription(id), "solo active")
    })
  )

  test(
    "follow delayed payments of checkouts as the processor decides them",
    Effect.gen(function* () {
      const { inside, subscription, tell, user } = yield* makeFixtures()
      const { id } = yield* inside(insertUser())
      const fake = yield* makeFakeStripe
      const adapter = StripeCardProcessor.layer({
        secretKey: Redacted.make(fake.secretKey),
        apiUrl: fake.url,
        prices: { plans: {} }
      })
      const cards = Context.get(yield* Layer.build(adapter), CardProcessor)
      const site = new URL("https://berth.example/")
      const checkoutOf = (purchase: Purchase) =>
        Effect.gen(function* () {
          const idempotencyKey = yield* inside(uniqueName("req"))
          const currency = findPurchaseCurrency(purchase)
          const customerId = yield* cards.createCustomer({
            userId: id,
            email: "a@example.com",
            currency,
            idempotencyKey
          })
          const url = yield* cards.createCheckout({
            purchase,
            userId: id,
            customerId,
            successUrl: site,
            cancelUrl: site,
            idempotencyKey: `${idempotencyKey}-page`
          })
          const deliverEvent = handled(fake.completeCheckout(url, { paysLater: true }))
          const decide = (outcome: "succeeds" | "fails") =>
            handled(fake.books.decideCheckout(fake.sessionAt(url).id, outcome))
          return { told: deliverEvent, decide }
        })
      const purchased = makePackPurchase({ pack: "200", credits: Credits(15), price: 15 })
      const [paid, failed] = [yield* checkoutOf(purchased), yield* checkoutOf(purchased)]
      yield* tell(...paid.told, ...failed.told, ...failed.decide("fails"))
      assert.strictEqual((yield* user(id)).credits, 0)
      const succeeded = paid.decide("succeeds")
      yield* tell(...succeeded, ...paid.told, ...succeeded)
      assert.strictEqual((yield* user(id)).credits, 15)
      const plan = yield* checkoutOf({ kind: "plan", plan: "solo" })
      yield* tell(...plan.told)
      assert.strictEqual(yield* subscription(id), "solo active")
      fake.advanceClock(60)
      yield* tell(...plan.decide("fails"))
      assert.strictEqual(yield* subscription(id), "solo past_due")
    })
  )

  test(
    "follow a subscription from start to end: paid, failed, paid again, canceled, ended",
    Effect.gen(function* () {
      const { inside, subscription, tell, user } = yield* makeFixtures()
      const { id } = yield* inside(insertUser())
      const { purchased, charged, is } = subscribed("sub_1", id)
      const jobs = yield* tell(is(10, "incomplete", "pro", "created"))
      assert.deepStrictEqual([yield* subscription(id), namesOf(jobs)], ["none", []])
      const granted = yield* tell(purchased(10, "pro"), charged(10, "succeeded"), is(10, "active", "pro"))
      assert.deepStrictEqual([yield* subscription(id), (yield* user(id)).plan], ["pro active", "pro"])
      assert.deepStrictEqual(namesOf(granted), [ReconfigureInstanceJob.name])
      yield* tell(charged(30, "failed"))
      assert.deepStrictEqual([yield* subscription(id), (yield* user(id)).plan], ["pro past_due", "free"])
      // Delivered late: it was paid before it failed.
      yield* tell(charged(29, "succeeded"))
      assert.strictEqual(yield* subscription(id), "pro past_due")
      yield* tell(charged(31, "succeeded"))
      assert.strictEqual(yield* subscription(id), "pro active")
      yield* tell(is(40, "canceled", "pro", "deleted"))
      assert.deepStrictEqual([yield* subscription(id), (yield* user(id)).plan], ["pro canceled", "free"])
      yield* tell(is(50, "active", "pro"), charged(51, "succeeded"))
      assert.strictEqual(yield* subscription(id), "pro canceled")
      const sql = yield* inside(SqlClient)
      assert.deepStrictEqual(
        yield* sql`select units::int, amount::int, currency, kind from purchases where user_id = ${id} order by cause`,
        [10, 29, 31, 51].map(() => ({ units: 0, amount: 1900, currency: "USD", kind: "subscription" }))
      )
    })
  )

  test(
    "stop the newest agents above a smaller plan, and none while a payment is only late",
    Effect.gen(function* () {
      const { agents, inside, subscription, tell } = yield* makeFixtures()
      const { id } = yield* inside(insertUser())
      const { purchased, charged, is } = subscribed("sub_1", id)
      yield* tell(purchased(10, "collective"))
      for (const [index, status] of (["active", "running", "provisioning"] as const).entries())
        yield* inside(insertAgent(id, { name: `${index}`, status, at: DateTime.unsafeMake(index) }))
      yield* tell(charged(20, "failed"))
      assert.deepStrictEqual(
        [yield* subscription(id), yield* agents(id)],
        ["collective past_due", ["0 active", "1 running", "2 provisioning"]]
      )
      const jobs = yield* tell(is(30, "active", "solo"))
      assert.deepStrictEqual(
        [yield* subscription(id), yield* agents(id)],
        ["solo active", ["0 active", "1 stopped", "2 stopped"]]
      )
      assert.deepStrictEqual(namesOf(jobs), [ReconfigureInstanceJob.name, SendMailJob.name].toSorted())
      // Only the owner restarts stopped agents.
      yield* tell(is(40, "active", "label"))
      assert.deepStrictEqual(yield* agents(id), ["0 active", "1 stopped", "2 stopped"])
    })
  )

  test(
    "use the newest paid of two subscriptions, and the other one again when that ends",
    Effect.gen(function* () {
      const { inside, subscription, tell } = yield* makeFixtures()
      const { id } = yield* inside(insertUser())
      const [one, two] = [subscribed("sub_1", id, "cus_1"), subscribed("sub_2", id, "cus_1")]
      yield* tell(two.purchased(20, "scale"), one.purchased(10, "pro"))
      assert.strictEqual(yield* subscription(id), "scale active")
      yield* tell(two.is(30, "canceled", "scale", "deleted"))
      assert.strictEqual(yield* subscription(id), "pro active")
    })
  )

  test(
    "A plan set by hand outlasts canceled card subscriptions and ends with the next paid one",
    Effect.gen(function* () {
      const { inside, subscription, tell } = yield* makeFixtures()
      const { id } = yield* inside(insertUser())
      const [first, second] = [subscribed("sub_first", id), subscribed("sub_second", id)]
      yield* tell(first.is(1, "active", "pro", "created"), first.is(2, "canceled", "pro", "deleted"))
      assert.strictEqual(yield* subscription(id), "pro canceled")
      yield* inside(
        Effect.flatMap(SubscriptionRepository, ({ save }) => save({ userId: id, plan: "enterprise", status: "active" }))
      )
      yield* tell(first.is(3, "canceled", "pro"))
      assert.strictEqual(yield* subscription(id), "enterprise active")
      yield* tell(second.is(4, "active", "scale", "created"))
      assert.strictEqual(yield* subscription(id), "scale active")
      yield* tell(second.is(5, "canceled", "scale", "deleted"))
      assert.strictEqual(yield* subscription(id), "scale canceled")
    })
  )

  test(
    "Card events of an unknown customer are applied once the customer registers",
    Effect.gen(function* () {
      const { inside, subscription, tell, user, work } = yield* makeFixtures()
      const email = `${yield* inside(uniqueName("late"))}@example.com`
      const { purchased, charged, is } = subscribed("sub_1", null)
      // Only the checkout has the address; the customer that it names identifies the rest.
      yield* tell(charged(30, "failed"), is(20, "active", "scale"), purchased(10, "pro", email.toUpperCase()))
      const sql = yield* inside(SqlClient)
      const states = sql`select status, count(*)::int from card_events group by 1`
      assert.deepStrictEqual(yield* states, [{ status: "unmatched", count: 3 }])

      const { id } = yield* inside(
        Effect.flatMap(UserRepository, (users) =>
          users.insert({
            id: UserId.make("usr_late"),
            email: Email.make(email),
            name: "x",
            passwordHash: null,
            referralCode: "x"
          })
        )
      )
      yield* inside(Effect.flatMap(Outbox, ({ append }) => append(EmailAddressConfirmedJob, { userId: id }, id)))
      yield* work
      assert.deepStrictEqual(yield* states, [{ status: "applied", count: 3 }])
      assert.deepStrictEqual([yield* subscription(id), (yield* user(id)).plan], ["scale past_due", "free"])
    })
  )

  test(
    "Card events do not match an unconfirmed email address where confirmation is required",
    Effect.gen(function* () {
      const { inside, subscription, tell, work } = yield* makeFixtures({ verifiedEmailsOnly: true })
      const { email, id } = yield* inside(insertUser())
      const match = inside(Effect.flatMap(Outbox, ({ append }) => append(EmailAddressConfirmedJob, { userId: id }, id)))
      yield* tell(subscribed("sub_1", null).purchased(10, "pro", email))
      yield* Effect.zipRight(match, work)
      assert.strictEqual(yield* subscription(id), "none")
      yield* inside(Effect.flatMap(UserRepository, ({ markEmailVerified }) => markEmailVerified(id)))
      yield* Effect.zipRight(match, work)
      assert.strictEqual(yield* subscription(id), "pro active")
    })
  )

  test(
    "of a deleted account are ignored",
    Effect.gen(function* () {
      const { inside, tell } = yield* makeFixtures()
      const { email, id } = yield* inside(insertUser())
      const { purchased, is } = subscribed("sub_1", id)
      yield* tell(purchased(10, "pro", email))
      yield* inside(Effect.flatMap(UserRepository, ({ remove }) => remove(id, "fmr_1")))
      yield* tell(is(20, "canceled", "pro", "deleted"))
      const sql = yield* inside(SqlClient)
      assert.deepStrictEqual(yield* sql`select status, payload, email, payer_id from card_events`, [
        { status: "ignored", payload: null, email: null, payerId: null }
      ])
    })
  )

  test(
    "with a lost job or an unknown customer are found and applied",
    Effect.gen(function* () {
      const { first, inside, subscription, tell, work } = yield* makeFixtures()
      const email = `${yield* inside(uniqueName("unseen"))}@example.com`
      yield* tell(subscribed("sub_1", null).purchased(10, "pro", email))
      const { id } = yield* inside(
        Effect.flatMap(UserRepository, (users) =>
          users.insert({
            id: UserId.make("usr_un"),
            email: Email.make(email),
            name: "x",
            passwordHash: null,
            referralCode: "x"
          })
        )
      )
      const other = yield* inside(insertUser())
      yield* inside(storeCardEvents([subscribed("sub_2", other.id).purchased(10, "scale")]))
      const sql = yield* inside(SqlClient)
      yield* sql`delete from outbox`
      const { retryOverdue, runRetention } = Context.get(first, CardEventEffects)
      assert.strictEqual(yield* retryOverdue, 0)
      yield* sql`update card_events set job_requested_at = now() - interval '16 minutes'`
      assert.deepStrictEqual(
        (yield* Effect.all([retryOverdue, retryOverdue], { concurrency: 2 })).reduce((sum, found) => sum + found, 0),
        2
      )
      yield* work
      assert.deepStrictEqual([yield* subscription(id), yield* subscription(other.id)], ["pro active", "scale active"])
      yield* sql`update card_events set received_at = now() - interval '91 days'`
      assert.strictEqual(yield* runRetention, 2)
    })
  )

  test(
    "without a known purchase are kept, and applied again once a price is set",
    Effect.gen(function* () {
      const { first, inside, subscription, tell, work } = yield* makeFixtures()
      const { id } = yield* inside(insertUser())
      const priced = (price: string) =>
        event("customer.subscription.updated", 10, {
          id: "sub_1",
          customer: "cus_1",
          status: "active",
          metadata: { userId: id },
          items: { data: [{ price: { id: price } }] }
        })
      yield* tell(priced("price_unknown"))
      const sql = yield* inside(SqlClient)
      assert.deepStrictEqual(
        [yield* subscription(id), yield* sql`select status from card_events`],
        ["none", [{ status: "unclear" }]]
      )
      // Simulates that the operator configured the price in the meantime.
      yield* sql`
        update card_events set job_requested_at = now() - interval '2 hours',
          payload = replace(payload::text, 'price_unknown', 'price_label')::jsonb`
      yield* Context.get(first, CardEventEffects).runRetention
      yield* work
      assert.deepStrictEqual(
        [yield* subscription(id), yield* sql`select status from card_events`],
        ["label active", [{ status: "applied" }]]
      )
    })
  )

  test(
    "that are malformed are not retried",
    Effect.gen(function* () {
      const { first, inside } = yield* makeFixtures()
      const bad = event("customer.subscription.updated", 10, { status: 7 })
      yield* inside(storeCardEvents([bad]))
      const { apply, retryOverdue } = Context.get(first, CardEventEffects)
      assert.strictEqual((yield* Effect.flip(apply(bad.id)))._tag, "CardEventUnreadable")
      const sql = yield* inside(SqlClient)
      yield* sql`update card_events set job_requested_at = now() - interval '1 day'`
      assert.strictEqual(yield* retryOverdue, 0)
      yield* apply("evt_that_nobody_knows")
    })
  )
})
