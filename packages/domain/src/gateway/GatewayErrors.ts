import { Data, type Option } from "effect"
import type { Challenge } from "./payments/Challenge.ts"
import type { PaymentFailure } from "./payments/PaymentFailure.ts"

/** Another request with the same payment is in progress. */
export class PaymentInProgress extends Data.TaggedError("PaymentInProgress")<object> {}

/** Neither units nor a payment cover the call. The challenge, if any, is for a machine payment. */
export class CallUnpaid extends Data.TaggedError("CallUnpaid")<{
  readonly priceUsd: number
  readonly reason: PaymentFailure | "units exhausted" | "email unconfirmed" | "machine payments off"
  readonly challenge: Option.Option<Challenge>
}> {}

/** Hot path: omits the stack trace, which would take longer than the challenge. */
export const makeTracelessCallUnpaid = (call: ConstructorParameters<typeof CallUnpaid>[0]): CallUnpaid => {
  const { stackTraceLimit } = Error
  Error.stackTraceLimit = 0
  const unpaid = new CallUnpaid(call)
  Error.stackTraceLimit = stackTraceLimit
  return unpaid
}
