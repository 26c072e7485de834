import { Context, type DateTime, type Effect } from "effect"
import type { Credits, Currency, Units } from "../../shared/Money.ts"
import type { AgentId } from "../../shared/AgentId.ts"
import type { UserId } from "../../shared/UserId.ts"

type BillingHistoryKind = "usage" | "purchase" | "grant" | "refund" | "subscription"

export interface BillingHistoryEntry {
  readonly id: string
  readonly kind: BillingHistoryKind
  readonly description: string
  /** Used units, from daily units and credits; 0 for other kinds. */
  readonly units: Units
  /** Change of the balance; negative if spent or reversed. */
  readonly credits: Credits
  /** Payment in pounds or dollars; negative if returned; null without a payment. */
  readonly amount: number | null
  readonly currency: Currency | null
  readonly createdAt: DateTime.Utc
}

interface BillingHistoryPage {
  /** Newest first. */
  readonly entries: ReadonlyArray<BillingHistoryEntry>
  /** Count of all matches. */
  readonly total: number
}

/** Settled units of a period by day, agent and model. */
interface UsageSums {
  /** UTC days with usage, oldest first. */
  readonly days: ReadonlyArray<{ readonly day: string; readonly units: Units }>
  /** Most units first; null for calls without an agent and for deleted agents. */
  readonly agents: ReadonlyArray<{
    readonly agentId: AgentId | null
    readonly name: string | null
    readonly units: Units
  }>
  /** Most units first; null if no reply is stored. */
  readonly models: ReadonlyArray<{ readonly model: string | null; readonly units: Units }>
}

/** Usage, purchases and reversals of a user. Open reservations are not listed. */
export class BillingHistory extends Context.Tag("@berth/BillingHistory")<
  BillingHistory,
  {
    readonly list: (
      userId: UserId,
      range: { readonly limit: number; readonly offset: number }
    ) => Effect.Effect<BillingHistoryPage>
    /** Sums the last `days` UTC days, including today. */
    readonly sumUsage: (userId: UserId, days: number) => Effect.Effect<UsageSums>
  }
>() {}

export const describeUsage = (cause: string): string => {
  if (cause.startsWith("msg_")) return "A message to an agent"
  if (cause.startsWith("gateway:")) return "A gateway call"
  return "A call"
}
