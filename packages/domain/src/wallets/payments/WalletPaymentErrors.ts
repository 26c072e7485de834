import { Data } from "effect"
import type { SpendingLimit } from "./SpendLimits.ts"

/** `limit` would be exceeded. */
export class SpendLimitExceeded extends Data.TaggedError("SpendLimitExceeded")<{
  readonly limit: SpendingLimit
}> {}
/** Too many payments of the agent wait for the owner. */
export class PendingPaymentLimitReached extends Data.TaggedError("PendingPaymentLimitReached")<object> {}
export class WalletPaymentNotFound extends Data.TaggedError("WalletPaymentNotFound")<object> {}
/** The payment does not wait for the owner any more. */
export class WalletPaymentNotPending extends Data.TaggedError("WalletPaymentNotPending")<object> {}
/** A sentence for the agent. */
export class WalletCallFailed extends Data.TaggedError("WalletCallFailed")<{ readonly reason: string }> {}
