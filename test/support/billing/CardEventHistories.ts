import type { CardEvent, CardEventType } from "@berth/domain/billing/events/CardEvent"
import { FastCheck } from "effect"

/*
 * Plausible events of subscriptions and purchases of a few customers, in the shapes of several API versions of the
 * card processor.
 */

const names = FastCheck.constantFrom("a", "b")
/** Few timestamps, so that many events share one. */
const created = FastCheck.integer({ min: 1, max: 6 })
const customer = FastCheck.constantFrom("cus_1", "cus_2")
const address = FastCheck.option(FastCheck.constantFrom("a@example.com", "B@Example.com", "stranger@example.com"))

interface Draft {
  readonly type: CardEventType
  readonly created: number
  readonly object: object
}

const metadataOf = (kind: string, extra: Readonly<Record<string, string>>, user: string | null) => ({
  kind,
  ...extra,
  ...(user === null ? {} : { userId: `usr_${user}` })
})

/** A subscription of one customer, with or without the metadata of our checkout, and its events. */
const subscription = (index: number) =>
  FastCheck.record({
    customer,
    user: FastCheck.option(names),
    kind: FastCheck.constantFrom("plan", "plan", "plan", "storage"),
    email: address,
    happenings: FastCheck.array(
      FastCheck.record({
        created,
        old: FastCheck.boolean(),
        plan: FastCheck.constantFrom("solo", "pro", "scale"),
        status: FastCheck.constantFrom("active", "trialing", "past_due", "unpaid", "paused", "canceled", "incomplete"),
        type: FastCheck.constantFrom<CardEventType>(
          "checkout.session.completed",
          "customer.subscription.created",
          "customer.subscription.updated",
          "customer.subscription.updated",
          "customer.subscription.deleted",
          "invoice.payment_succeeded",
          "invoice.payment_failed"
        )
      }),
      { minLength: 1, maxLength: 6 }
    )
  }).map(({ customer: customerId, email, happenings, kind, user }): ReadonlyArray<Draft> => {
    const id = `sub_${index}`
    return happenings.map(({ created: at, old, plan, status, type }) => {
      const metadata = metadataOf(kind, kind === "plan" ? { plan } : {}, user)
      if (type === "checkout.session.completed")
        return {
          type,
          created: at,
          object: {
            id: `cs_of_${id}`,
            mode: "subscription",
            payment_status: "paid",
            customer: customerId,
            subscription: id,
            customer_details: { email },
            metadata
          }
        }
      if (type === "invoice.payment_failed" || type === "invoice.payment_succeeded") {
        const details = { subscription: id, metadata }
        return {
          type,
          created: at,
          object: {
            id: `in_${id}_${at}`,
            customer: customerId,
            customer_email: email,
            amount_paid: 100,
            currency: "usd",
            ...(old
              ? { subscription: id, subscription_details: details }
              : { parent: { subscription_details: details } })
          }
        }
      }
      const end = { current_period_end: at * 1_000 }
      return {
        type,
        created: at,
        object: {
          id,
          customer: customerId,
          status: type === "customer.subscription.deleted" ? "canceled" : status,
          created: 1,
          metadata,
          items: { data: [{ price: { id: "price_x" }, ...(old ? {} : end) }] },
          ...(old ? end : {})
        }
      }
    })
  })

/** Purchased credits: a checkout event, and optionally its invoice, of the same customer. */
const purchase = (index: number) =>
  FastCheck.record({
    user: names,
    credits: FastCheck.constantFrom("5", "15", "30"),
    named: FastCheck.boolean(),
    at: created,
    invoiced: FastCheck.boolean(),
    old: FastCheck.boolean(),
    /** Outcome of a delayed payment; null for an immediate one. */
    delayed: FastCheck.constantFrom<"async_payment_succeeded" | "async_payment_failed" | null>(
      null,
      "async_payment_succeeded",
      "async_payment_failed"
    ),
    refunds: FastCheck.array(FastCheck.integer({ min: 1, max: 500 }), { maxLength: 2 }),
    dispute: FastCheck.option(
      FastCheck.record({
        amount: FastCheck.integer({ min: 1, max: 500 }),
        status: FastCheck.constantFrom("needs_response", "warning_needs_response"),
        outcome: FastCheck.constantFrom("won", "lost", "warning_closed", null)
      })
    )
  }).map(({ at, credits, delayed, dispute, invoiced, named, old, refunds, user }): ReadonlyArray<Draft> => {
    const [intent, invoice, email] = [`pi_${index}`, `in_${index}`, `${user}@example.com`]
    const shared = { customer: `cus_of_${user}`, metadata: metadataOf("credits", { credits }, named ? user : null) }
    const session = (type: CardEventType, payment_status: string): Draft => ({
      type,
      created: at,
      object: {
        ...shared,
        id: `cs_${index}`,
        mode: "payment",
        payment_status,
        payment_intent: old ? { id: intent } : intent,
        invoice: invoiced ? invoice : null,
        customer_details: { email },
        amount_total: 500,
        currency: "usd"
      }
    })
    const sessions =
      delayed === null
        ? [session("checkout.session.completed", "paid")]
        : [
            session("checkout.session.completed", "unpaid"),
            session(`checkout.session.${delayed}`, delayed === "async_payment_failed" ? "unpaid" : "paid")
          ]
    const paid: Draft = {
      type: "invoice.payment_succeeded",
      created: at,
      object: { ...shared, id: invoice, customer_email: email, amount_paid: 500, currency: "usd" }
    }
    const refunded = refunds.map((amount_refunded): Draft => ({
      type: "charge.refunded",
      created: at,
      object: { id: `ch_${index}`, payment_intent: intent, amount: 500, amount_refunded }
    }))
    const disputed = (type: CardEventType, status: string): Draft => ({
      type,
      created: at,
      object: { id: `dp_${index}`, charge: `ch_${index}`, payment_intent: intent, amount: dispute?.amount, status }
    })
    return [
      ...sessions,
      ...(invoiced && delayed !== "async_payment_failed" ? [paid] : []),
      ...refunded,
      ...(dispute === null ? [] : [disputed("charge.dispute.created", dispute.status)]),
      ...(dispute === null || dispute.outcome === null ? [] : [disputed("charge.dispute.closed", dispute.outcome)])
    ]
  })

/** The events with unique ids. */
export const cardEventHistory: FastCheck.Arbitrary<ReadonlyArray<CardEvent>> = FastCheck.tuple(
  ...[1, 2, 3].map(subscription),
  ...[1, 2].map(purchase)
).map((drafts) =>
  drafts
    .flat()
    .map(({ created: at, object, type }, index) => ({ id: `evt_${index}`, type, created: at, data: { object } }))
)

/** A delivery of a history: at least once, in any order, with duplicates. */
export const cardEventArrival: FastCheck.Arbitrary<{
  readonly history: ReadonlyArray<CardEvent>
  readonly arrived: ReadonlyArray<CardEvent>
}> = cardEventHistory.chain((history) =>
  FastCheck.tuple(
    FastCheck.shuffledSubarray([...history], { minLength: history.length }),
    FastCheck.array(FastCheck.tuple(FastCheck.nat(1_000), FastCheck.nat(1_000)), { maxLength: 8 })
  ).map(([shuffled, again]) => {
    const arrived = [...shuffled]
    for (const [which, where] of again) {
      const event = shuffled[which % shuffled.length]
      if (event !== undefined) arrived.splice(where % (arrived.length + 1), 0, event)
    }
    return { history, arrived }
  })
)
