import { Data } from "effect"
import type { SpendingLimit } from "./SpendLimits.ts"

/** The payment would exceed `limit`. */
export class SpendLimitExceeded extends Data.TaggedError("SpendLimitExceeded")<{
  readonly limit: SpendingLimit
}> {}
/** Too many payments of the agent require the owner's approval. */
export class PendingPaymentLimitReached extends Data.TaggedError("PendingPaymentLimitReached")<object> {}
export class WalletPaymentNotFound extends Data.TaggedError("WalletPaymentNotFound")<object> {}
/** The payment no longer requires approval. */
export class WalletPaymentNotPending extends Data.TaggedError("WalletPaymentNotPending")<object> {}
/** The reason is a sentence for the agent. */
export class WalletCallFailed extends Data.TaggedError("WalletCallFailed")<{ readonly reason: string }> {}
