import {
  CardProcessor,
  CardProcessorNotConfigured,
  CardProcessorUnavailable,
  CustomerId
} from "@berth/domain/billing/checkout/CardProcessor"
import { type Context, Effect, Layer } from "effect"
import { makeStripeCharges } from "./StripeCharges.ts"
import { isStripeRequestInvalid, makeStripeClient, type StripeAccess } from "./StripeClient.ts"
import { ignoreMissing, missingOrUnavailable, toCardProcessorUnavailable } from "./StripeFailures.ts"
import { attemptKey, makeCheckoutParams } from "./StripeObjects.ts"
import type { StripePriceIds } from "./StripePrices.ts"
import { makeStripeSubscriptions } from "./StripeSubscriptions.ts"

interface StripeCardProcessorOptions extends StripeAccess {
  readonly prices: StripePriceIds
}

const make = ({ prices, ...access }: StripeCardProcessorOptions): Context.Tag.Service<CardProcessor> => {
  const call = makeStripeClient(access)

  return CardProcessor.of({
    ...makeStripeCharges(call),
    ...makeStripeSubscriptions(call, prices),

    createCustomer: Effect.fn("CardProcessor.createCustomer")(function* ({ currency, email, idempotencyKey, userId }) {
      const { id } = yield* call((stripe) =>
        stripe.customers.create({ email, metadata: { userId, currency } }, { idempotencyKey })
      )
      return CustomerId.make(id)
    }, Effect.mapError(toCardProcessorUnavailable)),

    createCheckout: Effect.fn("CardProcessor.createCheckout")(
      function* (request) {
        const { idempotencyKey } = request
        const { url } = yield* call((stripe) =>
          stripe.checkout.sessions.create(makeCheckoutParams(prices, request), { idempotencyKey })
        )
        // A repetition after the payment returns the same page.
        return url === null || !URL.canParse(url)
          ? yield* new CardProcessorUnavailable({ reason: "the checkout has no address" })
          : new URL(url)
      },
      (result, { customerId }) =>
        Effect.catchTag(result, "StripeCallFailed", (failed) => missingOrUnavailable(customerId, failed))
    ),

    createPortalUrl: Effect.fn("CardProcessor.createPortalUrl")(
      function* (customerId, returnUrl) {
        const { url } = yield* call((stripe) =>
          stripe.billingPortal.sessions.create({ customer: customerId, return_url: returnUrl.href })
        )
        return new URL(url)
      },
      (result, customerId) => Effect.catchAll(result, (failed) => missingOrUnavailable(customerId, failed))
    ),

    expireCheckouts: Effect.fn("CardProcessor.expireCheckouts")(function* ({ customerId, exceptKey, kind }) {
      const { data } = yield* call((stripe) =>
        stripe.checkout.sessions.list({ customer: customerId, status: "open", limit: 100 })
      )
      yield* Effect.forEach(
        data.filter(({ metadata }) => metadata?.["kind"] === kind && metadata[attemptKey] !== exceptKey),
        ({ id }) =>
          call((stripe) => stripe.checkout.sessions.expire(id)).pipe(
            Effect.catchIf(
              ({ error }) => isStripeRequestInvalid(error),
              () => Effect.void
            )
          ),
        { discard: true }
      )
    }, Effect.mapError(toCardProcessorUnavailable)),

    removeCustomer: Effect.fn("CardProcessor.removeCustomer")(function* (customerId) {
      yield* call((stripe) => stripe.customers.del(customerId)).pipe(Effect.asVoid, Effect.catchAll(ignoreMissing))
    })
  })
}

export const layer = (options: StripeCardProcessorOptions): Layer.Layer<CardProcessor> =>
  Layer.sync(CardProcessor, () => make(options))

const notConfigured = () => new CardProcessorNotConfigured()

/** Every call fails without a key. */
export const layerNotConfigured: Layer.Layer<CardProcessor> = Layer.succeed(CardProcessor, {
  createCustomer: notConfigured,
  createCheckout: notConfigured,
  hasSavedCard: notConfigured,
  chargeSavedCard: notConfigured,
  findCharge: notConfigured,
  createPortalUrl: notConfigured,
  expireCheckouts: notConfigured,
  listSubscriptions: notConfigured,
  scheduleSubscriptionChange: notConfigured,
  updateSubscription: notConfigured,
  cancelSubscription: notConfigured,
  removeCustomer: notConfigured
})
