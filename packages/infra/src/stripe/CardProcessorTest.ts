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
  storageUpgrade,
  type MoneyAmount,
  findPlanPrice,
  type Purchase,
  type SoldPlanId
} from "@berth/domain/billing/checkout/Purchase"
import { Context, Effect, Layer, Option } from "effect"
import { randomBytes } from "node:crypto"
import { makeTestPort, type TestPortHandle } from "../testing/TestPort.ts"

interface Running {
  readonly customerId: CustomerId
  readonly kind: CardSubscription["kind"]
  plan: SoldPlanId | null
  nextPlan: SoldPlanId | null
  hasEnded: boolean
}

export interface CardBehavior {
  /** Charges stay in processing until their outcome is decided. */
  readonly isBankDebit?: boolean
  /** Decline code of a card that is declined, for example insufficient_funds. */
  readonly declines?: string
  /** Requires authentication by the cardholder, which is impossible off-session. */
  readonly wantsAuthentication?: boolean
}

/** Charges and running subscriptions of a customer. */
interface CardPurchases {
  readonly charges: ReadonlyArray<MoneyAmount>
  readonly running: ReadonlyArray<{ readonly kind: string | null; readonly plan: string | null }>
}

interface CardProcessorCall {
  readonly method: keyof CardProcessor["Type"]
  readonly input: unknown
}

/** Card processor in memory: actions of its customers, its calls and its behavior. */
export interface InMemoryCardProcessor extends TestPortHandle<CardProcessorCall, CardProcessor["Type"]> {
  readonly saveCard: (customerId: CustomerId, behavior?: CardBehavior) => Effect.Effect<void>
  /** Pays at the URL of a checkout; fails if there is nothing to pay. */
  readonly pay: (url: URL) => Effect.Effect<void, Error>
  readonly purchased: (customerId: CustomerId) => Effect.Effect<CardPurchases>
  readonly decideDebits: (outcome: "succeeds" | "fails") => Effect.Effect<void>
  readonly setUp: (isUp: boolean) => Effect.Effect<void>
  /** Ends the paid period of a subscription and pays the next one. */
  readonly renew: (id: CardSubscriptionId) => Effect.Effect<void>
}

/** Handle of the card processor of `layer`. */
export class CardProcessorTest extends Context.Tag("@berth/test/CardProcessorTest")<
  CardProcessorTest,
  InMemoryCardProcessor
>() {}

/** State of a card processor. Writes are idempotent by key. */
const makeState = () => {
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
      const customer = customers.get(id)
      return customer === undefined || customer.isGone
        ? new CardCustomerMissing({ customerId: id })
        : Effect.succeed(customer)
    })

  const cardOf = (id: CustomerId) =>
    known(id).pipe(
      Effect.map(({ card }) => card),
      Effect.catchTag("CardCustomerMissing", () => Effect.succeed(null))
    )

  const keys = <A>() => {
    const results = new Map<string, A>()
    return (key: string, make: () => A): A => {
      const before = results.get(key)
      if (before !== undefined) return before
      const result = make()
      results.set(key, result)
      return result
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

  const service = CardProcessor.of({
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
            Option.filter((subscription) => subscription.customerId === customerId),
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
          .filter(([, subscription]) => subscription.customerId === customerId && !subscription.hasEnded)
          .map(([id, { kind, plan }]) => ({ id, kind, plan, isPaid: true }))
          .toReversed()
      ),
    updateSubscription: ({ id, plan }) =>
      Effect.flatMap(up, () => {
        const subscription = subscriptions.get(id)
        if (subscription === undefined || subscription.hasEnded || subscription.plan === null)
          return new CardProcessorUnavailable({ reason: "there is no such subscription" })
        if (findPlanPrice(subscription.plan).currency !== findPlanPrice(plan).currency)
          return new CardProcessorUnavailable({ reason: "the currency is another one" })
        subscription.plan = plan
        subscription.nextPlan = null
        return Effect.void
      }),
    expireCheckouts: ({ customerId, exceptKey, kind }) =>
      Effect.map(up, () => {
        for (const page of pages.values())
          if (page.customerId === customerId && page.purchase.kind === kind && page.key !== exceptKey)
            page.isExpired = true
      }),
    scheduleSubscriptionChange: ({ id, plan }) =>
      Effect.flatMap(up, () => {
        const subscription = subscriptions.get(id)
        if (subscription === undefined || subscription.hasEnded)
          return new CardProcessorUnavailable({ reason: "there is no such subscription" })
        subscription.nextPlan = plan
        return Effect.void
      }),
    cancelSubscription: (id) =>
      Effect.map(up, () => {
        const subscription = subscriptions.get(id)
        if (subscription !== undefined) subscription.hasEnded = true
      }),
    removeCustomer: (customerId) =>
      Effect.map(up, () => {
        const customer = customers.get(customerId)
        if (customer !== undefined) customer.isGone = true
        for (const subscription of subscriptions.values())
          if (subscription.customerId === customerId) subscription.hasEnded = true
      })
  })

  return {
    service,
    saveCard: (customerId: CustomerId, behavior: CardBehavior = {}) =>
      Effect.sync(() => {
        const customer = customers.get(customerId)
        if (customer !== undefined) customer.card = behavior
      }),
    pay: (url: URL) =>
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
          customer.charges.push(purchase.kind === "plan" ? findPlanPrice(purchase.plan) : storageUpgrade.price)
        }
        return Effect.void
      }),
    purchased: (customerId: CustomerId) =>
      Effect.sync(() => ({
        charges: [...(customers.get(customerId)?.charges ?? [])],
        running: [...subscriptions.values()].flatMap((subscription) =>
          subscription.customerId === customerId && !subscription.hasEnded
            ? [{ kind: subscription.kind, plan: subscription.plan }]
            : []
        )
      })),
    decideDebits: (outcome: "succeeds" | "fails") =>
      Effect.sync(() => {
        for (const [key, { customerId, price }] of debits)
          if (outcome === "succeeds") {
            paid.set(key, { paymentId: name("pay"), customerId })
            customers.get(customerId)?.charges.push(price)
          }
        debits.clear()
      }),
    setUp: (isUp: boolean) =>
      Effect.sync(() => {
        state.isUp = isUp
      }),
    renew: (id: CardSubscriptionId) =>
      Effect.sync(() => {
        const subscription = subscriptions.get(id)
        if (subscription === undefined) return
        subscription.plan = subscription.nextPlan ?? subscription.plan
        subscription.nextPlan = null
      })
  }
}

/** A card processor in memory, available and without customers, unless the behavior is replaced. */
export const layer: Layer.Layer<CardProcessor | CardProcessorTest> = Layer.effectContext(
  Effect.gen(function* () {
    const { service, ...state } = makeState()
    const { handle, run } = yield* makeTestPort<CardProcessorCall, CardProcessor["Type"]>(service)
    const processor = CardProcessor.of({
      createCustomer: (input) => run({ method: "createCustomer", input }, (its) => its.createCustomer(input)),
      createCheckout: (input) => run({ method: "createCheckout", input }, (its) => its.createCheckout(input)),
      hasSavedCard: (input) => run({ method: "hasSavedCard", input }, (its) => its.hasSavedCard(input)),
      chargeSavedCard: (input) => run({ method: "chargeSavedCard", input }, (its) => its.chargeSavedCard(input)),
      findCharge: (input) => run({ method: "findCharge", input }, (its) => its.findCharge(input)),
      createPortalUrl: (input, returnUrl) =>
        run({ method: "createPortalUrl", input }, (its) => its.createPortalUrl(input, returnUrl)),
      listSubscriptions: (input) => run({ method: "listSubscriptions", input }, (its) => its.listSubscriptions(input)),
      expireCheckouts: (input) => run({ method: "expireCheckouts", input }, (its) => its.expireCheckouts(input)),
      updateSubscription: (input) =>
        run({ method: "updateSubscription", input }, (its) => its.updateSubscription(input)),
      scheduleSubscriptionChange: (input) =>
        run({ method: "scheduleSubscriptionChange", input }, (its) => its.scheduleSubscriptionChange(input)),
      cancelSubscription: (input) =>
        run({ method: "cancelSubscription", input }, (its) => its.cancelSubscription(input)),
      removeCustomer: (input) => run({ method: "removeCustomer", input }, (its) => its.removeCustomer(input))
    })
    return Context.make(CardProcessor, processor).pipe(Context.add(CardProcessorTest, { ...handle, ...state }))
  })
)
