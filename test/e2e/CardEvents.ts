import { SqlClient } from "@effect/sql/SqlClient"
import { isProcessAlive } from "@berth/infra/process/ProcessIdentity"
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import Stripe from "stripe"
import type { StripeEvent } from "../fakes/stripe/StripeObjects.ts"
import { repeatUntil } from "./BerthProcess.ts"
import { SharedBerth, type SharedBerthPart } from "./SharedBerth.ts"
import { type SignedUpClient, signUpClient } from "./WebClient.ts"

const service = Effect.map(SharedBerth, ({ berth, cards }) => {
  const { hostname, port } = cards.url
  return {
    berth,
    cards,
    stripe: new Stripe(cards.secretKey, { host: hostname, port, protocol: "http", telemetry: false })
  }
})

/** Delivers events to the service, which must acknowledge each one. */
const deliver = (events: ReadonlyArray<StripeEvent>) =>
  Effect.gen(function* () {
    const { berth, cards } = yield* SharedBerth
    const to = new URL("/api/webhooks/cardProcessor", berth.webUrl)
    const statuses = yield* cards.deliver(events, { to, header: "cardProcessor-signature" })
    assert.deepStrictEqual(
      statuses,
      events.map(() => 200)
    )
  })

const untilPlan = (person: SignedUpClient, plan: string) =>
  repeatUntil(
    Effect.map(
      person.raw("GET", "/api/settings"),
      ({ body }) => typeof body === "object" && body !== null && "plan" in body && body.plan === plan
    )
  )

/** Waits until every delivered event is applied. */
const untilApplied = Effect.flatMap(SqlClient, (sql) =>
  repeatUntil(Effect.map(sql`select id from card_events where status <> 'applied'`, (rows) => rows.length === 0))
)

export const cardEvents: SharedBerthPart = (it) => {
  it.effect(
    "Card events grant and revoke a plan when they are late, repeated, out of order, and the worker is killed",
    Effect.fn(function* () {
      const { berth, cards, stripe } = yield* service
      const person = yield* signUpClient(berth.webUrl)
      assert.containSubset(yield* person.raw("POST", "/api/agents/provision", { body: { name: "Ada" } }), {
        status: 402
      })

      const metadata = { kind: "plan", plan: "solo", userId: person.userId }
      const session = yield* Effect.promise(() =>
        stripe.checkout.sessions.create({
          mode: "subscription",
          line_items: [
            {
              quantity: 1,
              price_data: {
                currency: "gbp",
                unit_amount: 2900,
                recurring: { interval: "month" },
                product_data: { name: "Solo" }
              }
            }
          ],
          success_url: `${berth.webUrl}/onboarding`,
          cancel_url: `${berth.webUrl}/pricing`,
          client_reference_id: person.userId,
          customer_email: person.account.email,
          metadata,
          subscription_data: { metadata }
        })
      )
      const sent = cards.completeCheckout(session.url ?? "").toReversed()
      const { worker } = yield* berth.pids
      yield* deliver([...sent, ...sent])
      process.kill(worker, "SIGKILL")
      yield* repeatUntil(Effect.sync(() => !isProcessAlive(worker)))
      yield* deliver(sent)
      yield* untilPlan(person, "solo")
      yield* untilApplied

      const agent = yield* person.provision("Ada")
      yield* person.untilRunning(agent.id)
      const id = cards.books.session(session.id).object.subscription ?? ""
      yield* deliver(cards.renew(id, "fails"))
      yield* untilPlan(person, "free")
      // An unpaid month does not stop agents.
      assert.include(["running", "active"], yield* person.statusOf(agent.id))
      yield* deliver(cards.renew(id, "paid"))
      yield* untilPlan(person, "solo")

      yield* Effect.promise(() => stripe.subscriptions.cancel(id))
      yield* deliver(cards.events.filter(({ type }) => type === "customer.subscription.deleted"))
      yield* untilPlan(person, "free")
      yield* deliver(sent)
      yield* untilApplied
      assert.containSubset(yield* person.raw("POST", "/api/agents/provision", { body: { name: "Eve" } }), {
        status: 402
      })
    })
  )

  it.effect(
    "Card events wait for a customer who paid before registering",
    Effect.fn(function* () {
      const { berth, cards, stripe } = yield* service
      const account = { email: "early@example.com", password: "correct horse battery" }
      const session = yield* Effect.promise(() =>
        stripe.checkout.sessions.create({
          mode: "payment",
          line_items: [
            { quantity: 1, price_data: { currency: "usd", unit_amount: 1500, product_data: { name: "Credits" } } }
          ],
          success_url: berth.webUrl,
          customer_email: account.email
        })
      )
      yield* deliver(cards.completeCheckout(session.url ?? ""))
      const sql = yield* SqlClient
      yield* repeatUntil(
        Effect.map(sql`select id from card_events where status = 'unmatched'`, (rows) => rows.length > 0)
      )
      const person = yield* signUpClient(berth.webUrl, "early", account)
      yield* repeatUntil(
        Effect.map(
          person.raw("GET", "/api/settings"),
          ({ body }) => typeof body === "object" && body !== null && "credits" in body && body.credits === 15
        )
      )
    })
  )
}
