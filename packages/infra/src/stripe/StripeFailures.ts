import {
  CardCustomerMissing,
  CardProcessorUnavailable,
  type CustomerId,
  PurchaseDeclined
} from "@berth/domain/billing/checkout/CardProcessor"
import { Effect } from "effect"
import {
  describeStripeError,
  isCardError,
  isCustomerMissing,
  isStripeObjectMissing,
  type StripeCallFailed
} from "./StripeClient.ts"

export const toCardProcessorUnavailable = ({ error }: StripeCallFailed) =>
  new CardProcessorUnavailable({ reason: describeStripeError(error) })

/** Card errors are caused by the buyer; all others by the processor. */
export const toPurchaseFailure = (failed: StripeCallFailed) =>
  isCardError(failed.error)
    ? new PurchaseDeclined({
        reason: failed.error.message,
        declineCode: failed.error.decline_code ?? failed.error.code ?? null
      })
    : toCardProcessorUnavailable(failed)

export const missingOrUnavailable = (
  customerId: CustomerId,
  failed: StripeCallFailed
): Effect.Effect<never, CardCustomerMissing | CardProcessorUnavailable> =>
  isCustomerMissing(failed.error) ? new CardCustomerMissing({ customerId }) : toCardProcessorUnavailable(failed)

/** Replaces the failure of a missing customer with a default. */
export const orWhereMissing =
  <A>(nothing: A) =>
  <B>(found: Effect.Effect<B, StripeCallFailed>): Effect.Effect<A | B, StripeCallFailed> =>
    Effect.catchIf(
      found,
      ({ error }) => isStripeObjectMissing(error),
      () => Effect.succeed(nothing)
    )

export const ignoreMissing = (failed: StripeCallFailed) =>
  isStripeObjectMissing(failed.error) ? Effect.void : toCardProcessorUnavailable(failed)
