import { Context, type DateTime, type Duration, Effect, Option, Schema } from "effect"
import { RequestClaim } from "../../limits/IdempotentExecution.ts"
import type { UserId } from "../../shared/UserId.ts"
import type { CustomerId } from "./CardProcessor.ts"
import type { PricedCredits } from "./Purchase.ts"

/** Idempotency key of a purchase at the card processor. */
export const PurchaseAttemptId = Schema.String.pipe(Schema.brand("PurchaseAttemptId"))
export type PurchaseAttemptId = typeof PurchaseAttemptId.Type

/** `open`: the outcome is unknown. `refused`: nothing was charged, and a repetition is a new attempt. */
type PurchaseAttemptState = "open" | "paid" | "refused"

export interface SavedCharge {
  readonly customerId: CustomerId
  readonly purchase: PricedCredits
}

export interface PurchaseAttempt {
  readonly id: PurchaseAttemptId
  readonly state: PurchaseAttemptState
  /** Whether this request began the attempt. */
  readonly isNew: boolean
  /** The charge at the beginning of the attempt; null for checkouts. */
  readonly charge: SavedCharge | null
}

export interface NewPurchaseAttempt {
  readonly userId: UserId
  /** Equal for equal purchases by the same method. */
  readonly operation: string
  readonly charge: SavedCharge | null
  /** Idempotency key of the request; all its repetitions share an attempt. */
  readonly reference: Option.Option<string>
  /** Without a reference, equal operations within this time share an attempt. */
  readonly repeatWindow: Duration.Duration
}

interface OpenCharge extends SavedCharge {
  readonly id: PurchaseAttemptId
  readonly userId: UserId
  /** Time of the last request. */
  readonly triedAt: DateTime.Utc
}

/** Purchases in progress, stored before the card processor is called, so that a repetition charges once. */
export class PurchaseAttempts extends Context.Tag("@berth/PurchaseAttempts")<
  PurchaseAttempts,
  {
    /** Returns the attempt of the request; begins one if absent. */
    readonly begin: (attempt: NewPurchaseAttempt) => Effect.Effect<PurchaseAttempt>
    /** Joins the running transaction. `paid` is final. */
    readonly settle: (id: PurchaseAttemptId, state: Exclude<PurchaseAttemptState, "open">) => Effect.Effect<void>
    /** Marks an open charge as tried now, which postpones its next look-up. */
    readonly touch: (id: PurchaseAttemptId) => Effect.Effect<void>
    /** Open charges last tried before `before`, oldest first. */
    readonly listOpenBefore: (before: DateTime.Utc, limit: number) => Effect.Effect<ReadonlyArray<OpenCharge>>
    /** Deletes attempts older than this. Returns the number of deleted attempts. */
    readonly prune: (age: Duration.Duration) => Effect.Effect<number>
  }
>() {}

/**
 * Route and idempotency key of the request, not its claim: after the death of a process another claim continues the
 * same purchase.
 */
export const findRequestReference: Effect.Effect<Option.Option<string>> = Effect.map(
  RequestClaim,
  Option.map(({ key }) => `${key.route} ${key.key}`)
)
