import {
  type CardProcessor,
  ChargeOutcome,
  type CustomerId,
  type FoundCharge
} from "@berth/domain/billing/checkout/CardProcessor"
import { Array, type Context, Effect, Option } from "effect"
import { isIdempotencyConflict, type StripeCall } from "./StripeClient.ts"
import { orWhereMissing, toCardProcessorUnavailable, toPurchaseFailure } from "./StripeFailures.ts"
import { attemptKey, makeChargeParams, readCharge, readId } from "./StripeObjects.ts"

type StripeCharges = Pick<Context.Tag.Service<CardProcessor>, "hasSavedCard" | "chargeSavedCard" | "findCharge">

/** Charges of saved cards. */
export const makeStripeCharges = (call: StripeCall): StripeCharges => {
  /** Finds the paid or processing charge of an attempt. */
  const findCharge = (customerId: CustomerId, attempt: string) =>
    Effect.map(
      call((stripe) => stripe.paymentIntents.list({ customer: customerId, limit: 100 })),
      ({ data }) =>
        Array.findFirst(data, (intent) =>
          intent.metadata[attemptKey] === attempt ? readCharge(intent) : Option.none<FoundCharge>()
        )
    ).pipe(orWhereMissing(Option.none<FoundCharge>()))

  const findSavedMethod = Effect.fnUntraced(function* (customerId: CustomerId) {
    const customer = yield* call((stripe) => stripe.customers.retrieve(customerId))
    if (customer.deleted === true) return Option.none<string>()
    const chosen = readId(customer.invoice_settings.default_payment_method)
    if (chosen !== null) return Option.some(chosen)
    const { data } = yield* call((stripe) =>
      stripe.customers.listPaymentMethods(customerId, { type: "card", limit: 1 })
    )
    return Option.map(Option.fromNullable(data[0]), ({ id }) => id)
  }, orWhereMissing(Option.none<string>()))

  return {
    hasSavedCard: Effect.fn("CardProcessor.hasSavedCard")(
      (customerId) => Effect.map(findSavedMethod(customerId), Option.isSome),
      Effect.mapError(toCardProcessorUnavailable)
    ),

    chargeSavedCard: Effect.fn("CardProcessor.chargeSavedCard")(
      function* (request) {
        const { customerId, idempotencyKey } = request
        const method = yield* findSavedMethod(customerId)
        // An earlier request may have charged the card, which was then removed.
        if (Option.isNone(method))
          return Option.getOrElse(yield* findCharge(customerId, idempotencyKey), () => ChargeOutcome.NeedsCheckout())
        return yield* call((stripe) =>
          stripe.paymentIntents.create(makeChargeParams(method.value, request), { idempotencyKey })
        ).pipe(
          Effect.map((intent) => Option.getOrElse(readCharge(intent), () => ChargeOutcome.NeedsCheckout())),
          // The first request named another card; its outcome counts.
          Effect.catchIf(
            ({ error }) => isIdempotencyConflict(error),
            (failed) =>
              Effect.flatMap(
                findCharge(customerId, idempotencyKey),
                Option.match({ onNone: () => Effect.fail(failed), onSome: Effect.succeed })
              )
          )
        )
      },
      Effect.mapError(toPurchaseFailure),
      Effect.catchIf(
        (error) => error._tag === "PurchaseDeclined" && error.declineCode === "authentication_required",
        () => Effect.succeed(ChargeOutcome.NeedsCheckout())
      )
    ),

    findCharge: Effect.fn("CardProcessor.findCharge")(
      ({ customerId, idempotencyKey }) => findCharge(customerId, idempotencyKey),
      Effect.mapError(toCardProcessorUnavailable)
    )
  }
}
