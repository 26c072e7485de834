import { Context, type DateTime, type Duration, type Effect, type Option, Schema } from "effect"
import type { CustomerId } from "./CardProcessor.ts"
import type { PricedCredits } from "./Purchase.ts"
import type { UserId } from "../../shared/UserId.ts"

/** Names what is asked of the card processor, once however often it is asked: its idempotency key there. */
export const PurchaseAttemptId = Schema.String.pipe(Schema.brand("PurchaseAttemptId"))
export type PurchaseAttemptId = typeof PurchaseAttemptId.Type

/** `open`: what became of it is not known here. `refused`: it came to nothing, and the next time is another attempt. */
export type PurchaseAttemptState = "open" | "paid" | "refused"

/** Who is charged for what, without being asked again. */
export interface SavedCharge {
  readonly customerId: CustomerId
  readonly purchase: PricedCredits
}

export interface PurchaseAttempt {
  readonly id: PurchaseAttemptId
  readonly state: PurchaseAttemptState
  /** Whether this request began it. */
  readonly isNew: boolean
  /** Where a saved card is charged; as it was when the attempt began. */
  readonly charge: Option.Option<SavedCharge>
}

export interface NewPurchaseAttempt {
  readonly userId: UserId
  /** What is bought and in which way; the same text for what would be the same purchase. */
  readonly what: string
  readonly charge: Option.Option<SavedCharge>
  /** What the request is called, where it says so itself: each of its repetitions is the same attempt. */
  readonly reference: Option.Option<string>
  /** Without a name, whoever asks for the same within so long means the same attempt: he clicked twice. */
  readonly doubleClick: Duration.Duration
}

export interface OpenCharge extends SavedCharge {
  readonly id: PurchaseAttemptId
  readonly userId: UserId
  /** When somebody last asked for it to be charged. */
  readonly triedAt: DateTime.Utc
}

/** Purchases as they are tried, kept across processes so that one that is asked for twice is made once. */
export class PurchaseAttempts extends Context.Tag("@berth/PurchaseAttempts")<
  PurchaseAttempts,
  {
    /** The attempt that a request belongs to, or a new one. */
    readonly begin: (attempt: NewPurchaseAttempt) => Effect.Effect<PurchaseAttempt>
    /** Joins the running transaction. What was paid stays paid. */
    readonly settle: (id: PurchaseAttemptId, state: Exclude<PurchaseAttemptState, "open">) => Effect.Effect<void>
    /** Postpones the next look-up of an open charge by marking it as tried now. */
    readonly touch: (id: PurchaseAttemptId) => Effect.Effect<void>
    /** Charges whose end is not known, and that nobody has tried since then; the longest ago first. */
    readonly listOpenBefore: (before: DateTime.Utc, limit: number) => Effect.Effect<ReadonlyArray<OpenCharge>>
    /** Deletes attempts that nobody can take up any more; answers how many. */
    readonly prune: Effect.Effect<number>
  }
>() {}
