import {
  CardCustomerMissing,
  CardProcessor,
  CardProcessorUnavailable,
  type CardSubscription,
  CardSubscriptionId,
  ChargeOutcome,
  CustomerId,
  PurchaseDeclined
} from "@berth/domain/billing/checkout/CardProcessor"
import {
  findPurchaseCurrency,
  type MoneyAmount,
  findPlanPrice,
  type Purchase,
  type SoldPlanId
} from "@berth/domain/billing/checkout/Purchase"
import { Effect, Layer, Option } from "effect"
import { randomBytes } from "node:crypto"
import type { CardBehavior } from "../stripe/StripeObjects.ts"

interface Running {
  readonly customerId: CustomerId
  readonly kind: CardSubscription["kind"]
  plan: SoldPlanId | null
  nextPlan: SoldPlanId | null
  hasEnded: boolean
}

/** Number of charges of a customer's card, and the running subscriptions. */
export interface CardPurchases {
  readonly charges: ReadonlyArray<MoneyAmount>
  readonly running: ReadonlyArray<{ readonly kind: string | null; readonly plan: string | null }>
}

export interface InMemoryCardProcessor {
  readonly layer: Layer.Layer<CardProcessor>
  readonly saveCard: (customerId: CustomerId, behavior?: CardBehavior) => Effect.Effect<void>
  /** Pays at the address of a checkout; fails where nothing can be paid. */
  readonly pay: (url: URL) => Effect.Effect<void, Error>
  readonly purchased: (customerId: CustomerId) => Effect.Effect<CardPurchases>
  /** The outcome of every bank debit under way. */
  readonly decideDebits: (outcome: "succeeds" | "fails") => Effect.Effect<void>
  readonly setUp: (isUp: boolean) => Effect.Effect<void>
  /** The paid period of a subscription ends, and the next one is paid. */
  readonly renew: (id: CardSubscriptionId) => Effect.Effect<void>
}

/** A card processor in memory: every write once a key. */
export const make: Effect.Effect<InMemoryCardProcessor> = Effect.sync(() => {
  const state = { isUp: true }
  const customers = new Map<CustomerId, { card: CardBehavior | null; isGone: boolean; charges: Array<MoneyAmount> }>()
  const pages = new Map<
    string,
    {
      readonly purchase: Purchase
      readonly customerId: CustomerId
      readonly key: string
      isPaid: boolean
      isExpired: boolean
    }
  >()
  const subscriptions = new Map<CardSubscriptionId, Running>()
  const paid = new Map<string, { readonly paymentId: string; readonly customerId: CustomerId }>()
  const debits = new Map<string, { readonly price: MoneyAmount; readonly customerId: CustomerId }>()
  const name = (prefix: string) => `${prefix}_${randomBytes(8).toString("hex")}`

  const up = Effect.suspend(() => (state.isUp ? Effect.void : new CardProcessorUnavailable({ reason: "it is down" })))
  const known = (id: CustomerId) =>
    Effect.suspend(() => {
      const found = customers.get(id)
      return found === undefined || found.isGone ? new CardCustomerMissing({ customerId: id }) : Effect.succeed(found)
    })

  const cardOf = (id: CustomerId) =>
    known(id).pipe(
      Effect.map(({ card }) => card),
      Effect.catchTag("CardCustomerMissing", () => Effect.succeed(null))
    )

  const keys = <A>() => {
    const kept = new Map<string, A>()
    return (key: string, make: () => A): A => {
      const before = kept.get(key)
      if (before !== undefined) return before
      const made = make()
      kept.set(key, made)
      return made
    }
  }
  const customerOnce = keys<CustomerId>()
  const pageOnce = keys<URL>()
  const chargeOnce = keys<Effect.Effect<ChargeOutcome, PurchaseDeclined>>()

  const charge = (
    customerId: CustomerId,
    price: MoneyAmount,
    key: string
  ): Effect.Effect<ChargeOutcome, PurchaseDeclined> => {
    const customer = customers.get(customerId)
    const card = customer?.card ?? null
    if (customer === undefined || card === null || card.wantsAuthentication === true)
      return Effect.succeed(ChargeOutcome.NeedsCheckout())
    if (card.declines !== undefined)
      return new PurchaseDeclined({ reason: "Your card was declined.", declineCode: card.declines })
    if (card.isBankDebit === true) {
      debits.set(key, { price, customerId })
      return Effect.succeed(ChargeOutcome.UnderWay())
    }
    const paymentId = name("pay")
    paid.set(key, { paymentId, customerId })
    customer.charges.push(price)
    return Effect.succeed(ChargeOutcome.Paid({ paymentId }))
  }

  const layer = Layer.succeed(CardProcessor, {
    createCustomer: ({ idempotencyKey }) =>
      Effect.as(
        up,
        customerOnce(idempotencyKey, () => {
          const id = CustomerId.make(name("cus"))
          customers.set(id, { card: null, isGone: false, charges: [] })
          return id
        })
      ),
    createCheckout: ({ customerId, idempotencyKey, purchase }) =>
      up.pipe(
        Effect.zipRight(known(customerId)),
        Effect.map(() =>
          pageOnce(idempotencyKey, () => {
            const url = new URL(`https://cards.example/pay/${name("page")}`)
            pages.set(url.href, { purchase, customerId, key: idempotencyKey, isPaid: false, isExpired: false })
            return url
          })
        )
      ),
    hasSavedCard: (customerId) => Effect.map(Effect.zipRight(up, cardOf(customerId)), (card) => card !== null),
    chargeSavedCard: ({ customerId, idempotencyKey, purchase }) =>
      up.pipe(
        Effect.zipRight(cardOf(customerId)),
        Effect.flatMap((card) =>
          card === null
            ? Effect.succeed(ChargeOutcome.NeedsCheckout())
            : chargeOnce(idempotencyKey, () => charge(customerId, purchase.price, idempotencyKey))
        )
      ),
    findCharge: ({ customerId, idempotencyKey }) =>
      Effect.map(up, () =>
        Option.orElse(
          Option.fromNullable(paid.get(idempotencyKey)).pipe(
            Option.filter((one) => one.customerId === customerId),
            Option.map(({ paymentId }) => ChargeOutcome.Paid({ paymentId }))
          ),
          () => (debits.has(idempotencyKey) ? Option.some(ChargeOutcome.UnderWay()) : Option.none())
        )
      ),
    createPortalUrl: (customerId, returnUrl) =>
      up.pipe(
        Effect.zipRight(known(customerId)),
        Effect.as(new URL(`https://cards.example/portal?back=${encodeURIComponent(returnUrl.href)}`))
      ),
    listSubscriptions: (customerId) =>
      Effect.map(up, () =>
        [...subscriptions]
          .filter(([, one]) => one.customerId === customerId && !one.hasEnded)
          .map(([id, { kind, plan }]) => ({ id, kind, plan, isPaid: true }))
          .toReversed()
      ),
    updateSubscription: ({ id, plan }) =>
      Effect.flatMap(up, () => {
        const found = subscriptions.get(id)
        if (found === undefined || found.hasEnded || found.plan === null)
          return new CardProcessorUnavailable({ reason: "there is no such subscription" })
        if (findPlanPrice(found.plan).currency !== findPlanPrice(plan).currency)
          return new CardProcessorUnavailable({ reason: "the currency is another one" })
        found.plan = plan
        found.nextPlan = null
        return Effect.void
      }),
    expirePlanCheckouts: ({ customerId, exceptKey }) =>
      Effect.map(up, () => {
        for (const page of pages.values())
          if (page.customerId === customerId && page.purchase.kind === "plan" && page.key !== exceptKey)
            page.isExpired = true
      }),
    scheduleSubscriptionChange: ({ id, plan }) =>
      Effect.flatMap(up, () => {
        const found = subscriptions.get(id)
        if (found === undefined || found.hasEnded)
          return new CardProcessorUnavailable({ reason: "there is no such subscription" })
        found.nextPlan = plan
        return Effect.void
      }),
    cancelSubscription: (id) =>
      Effect.map(up, () => {
        const found = subscriptions.get(id)
        if (found !== undefined) found.hasEnded = true
      }),
    removeCustomer: (customerId) =>
      Effect.map(up, () => {
        const found = customers.get(customerId)
        if (found !== undefined) found.isGone = true
        for (const one of subscriptions.values()) if (one.customerId === customerId) one.hasEnded = true
      })
  })

  return {
    layer,
    saveCard: (customerId, behavior = {}) =>
      Effect.sync(() => {
        const found = customers.get(customerId)
        if (found !== undefined) found.card = behavior
      }),
    pay: (url) =>
      Effect.suspend(() => {
        const page = pages.get(url.href)
        const customer = page === undefined ? undefined : customers.get(page.customerId)
        if (page === undefined || page.isPaid || page.isExpired || customer === undefined || customer.isGone)
          return Effect.fail(new Error("This page is over"))
        page.isPaid = true
        customer.card = {}
        const { customerId, purchase } = page
        if (purchase.kind === "credits") {
          if (typeof purchase.price !== "string") customer.charges.push(purchase.price)
        } else {
          subscriptions.set(CardSubscriptionId.make(name("sub")), {
            customerId,
            kind: purchase.kind,
            plan: purchase.kind === "plan" ? purchase.plan : null,
            nextPlan: null,
            hasEnded: false
          })
          customer.charges.push(
            purchase.kind === "plan"
              ? findPlanPrice(purchase.plan)
              : { amount: 3_900, currency: findPurchaseCurrency(purchase) }
          )
        }
        return Effect.void
      }),
    purchased: (customerId) =>
      Effect.sync(() => ({
        charges: [...(customers.get(customerId)?.charges ?? [])],
        running: [...subscriptions.values()].flatMap((one) =>
          one.customerId === customerId && !one.hasEnded ? [{ kind: one.kind, plan: one.plan }] : []
        )
      })),
    decideDebits: (outcome) =>
      Effect.sync(() => {
        for (const [key, { customerId, price }] of debits)
          if (outcome === "succeeds") {
            paid.set(key, { paymentId: name("pay"), customerId })
            customers.get(customerId)?.charges.push(price)
          }
        debits.clear()
      }),
    setUp: (isUp) =>
      Effect.sync(() => {
        state.isUp = isUp
      }),
    renew: (id) =>
      Effect.sync(() => {
        const found = subscriptions.get(id)
        if (found === undefined) return
        found.plan = found.nextPlan ?? found.plan
        found.nextPlan = null
      })
  }
})
