import { Context, type DateTime, type Effect } from "effect"
import type { Currency } from "../../shared/Money.ts"
import type { UserId } from "../../shared/UserId.ts"

export type BillingHistoryKind = "usage" | "purchase" | "grant" | "refund" | "subscription"

export interface BillingHistoryEntry {
  readonly id: string
  readonly kind: BillingHistoryKind
  /** A few words for the reader. */
  readonly description: string
  /** Units that a usage took, of the day's and of the credits' together; 0 for everything else. */
  readonly units: number
  /** How the credits changed, to hundredths: below zero when they paid, or were taken back. */
  readonly credits: number
  /** Money that was paid, in whole pounds or dollars with hundredths; below zero when it went back; null when none moved. */
  readonly amount: number | null
  readonly currency: Currency | null
  readonly createdAt: DateTime.Utc
}

export interface BillingHistoryPage {
  /** Newest first. */
  readonly entries: ReadonlyArray<BillingHistoryEntry>
  /** Of all pages. */
  readonly total: number
}

/** What a user's units and credits went for and where they came from. What is held for a running call is not told yet. */
export class BillingHistory extends Context.Tag("@berth/BillingHistory")<
  BillingHistory,
  {
    readonly list: (
      userId: UserId,
      range: { readonly limit: number; readonly offset: number }
    ) => Effect.Effect<BillingHistoryPage>
  }
>() {}

/** What a usage was for, from the cause that its units were reserved by. */
export const describeUsage = (cause: string): string => {
  if (cause.startsWith("msg_")) return "A message to an agent"
  if (cause.startsWith("gateway:")) return "A call of the gateway"
  return "A call"
}
