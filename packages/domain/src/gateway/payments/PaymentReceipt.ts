import type { DateTime } from "effect"

/** A settled payment. */
export interface PaymentReceipt {
  readonly transactionHash: string
  readonly settledAt: DateTime.Utc
}
