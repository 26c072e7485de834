import { type CardProcessor, CardProcessorUnavailable } from "@berth/domain/billing/checkout/CardProcessor"
import type { SoldPlanId } from "@berth/domain/billing/checkout/Purchase"
import { type Context, Effect } from "effect"
import type Stripe from "stripe"
import type { StripeCall } from "./StripeClient.ts"
import { ignoreMissing, orWhereMissing, toCardProcessorUnavailable, toPurchaseFailure } from "./StripeFailures.ts"
import {
  makePlanUpdateParams,
  makePriceParams,
  makeScheduleParams,
  readId,
  parseSubscription
} from "./StripeObjects.ts"
import type { StripePriceIds } from "./StripePrices.ts"

type StripeSubscriptions = Pick<
  Context.Tag.Service<CardProcessor>,
  "listSubscriptions" | "updateSubscription" | "scheduleSubscriptionChange" | "cancelSubscription"
>

/** Running subscriptions, and changes of their plan. */
export const makeStripeSubscriptions = (call: StripeCall, prices: StripePriceIds): StripeSubscriptions => {
  const findPrice = (plan: SoldPlanId, idempotencyKey: string) => {
    const id = prices.plans[plan]
    return id !== undefined
      ? Effect.succeed(id)
      : Effect.map(
          call((stripe) => stripe.prices.create(makePriceParams(plan), { idempotencyKey: `${idempotencyKey}-price` })),
          (price) => price.id
        )
  }

  const requireItem = ({ items }: Stripe.Subscription) =>
    Effect.fromNullable(items.data[0]).pipe(
      Effect.mapError(() => new CardProcessorUnavailable({ reason: "the subscription has no item" }))
    )

  return {
    listSubscriptions: Effect.fn("CardProcessor.listSubscriptions")(function* (customerId) {
      const { data } = yield* call((stripe) => stripe.subscriptions.list({ customer: customerId, limit: 100 })).pipe(
        orWhereMissing<{ readonly data: ReadonlyArray<Stripe.Subscription> }>({ data: [] })
      )
      return data
        .filter(({ status }) => status !== "incomplete_expired" && status !== "canceled")
        .map(parseSubscription)
    }, Effect.mapError(toCardProcessorUnavailable)),

    scheduleSubscriptionChange: Effect.fn("CardProcessor.scheduleSubscriptionChange")(
      function* ({ id, idempotencyKey, plan }) {
        const subscription = yield* call((stripe) => stripe.subscriptions.retrieve(id))
        const item = yield* requireItem(subscription)
        const price = yield* findPrice(plan, idempotencyKey)
        const scheduleId =
          readId(subscription.schedule) ??
          (yield* call((stripe) =>
            stripe.subscriptionSchedules.create(
              { from_subscription: id },
              { idempotencyKey: `${idempotencyKey}-schedule` }
            )
          )).id
        yield* call((stripe) =>
          stripe.subscriptionSchedules.update(scheduleId, makeScheduleParams(item, plan, price), { idempotencyKey })
        )
      },
      Effect.mapError((error) => (error._tag === "StripeCallFailed" ? toCardProcessorUnavailable(error) : error))
    ),

    updateSubscription: Effect.fn("CardProcessor.updateSubscription")(
      function* ({ id, idempotencyKey, plan }) {
        const subscription = yield* call((stripe) => stripe.subscriptions.retrieve(id))
        const scheduleId = readId(subscription.schedule)
        if (scheduleId !== null) yield* call((stripe) => stripe.subscriptionSchedules.release(scheduleId))
        const item = yield* requireItem(subscription)
        const price = yield* findPrice(plan, idempotencyKey)
        yield* call((stripe) =>
          stripe.subscriptions.update(id, makePlanUpdateParams(item, plan, price), { idempotencyKey })
        )
      },
      Effect.mapError((error) => (error._tag === "StripeCallFailed" ? toPurchaseFailure(error) : error))
    ),

    cancelSubscription: Effect.fn("CardProcessor.cancelSubscription")(function* (id) {
      yield* call((stripe) => stripe.subscriptions.cancel(id)).pipe(Effect.asVoid, Effect.catchAll(ignoreMissing))
    })
  }
}
