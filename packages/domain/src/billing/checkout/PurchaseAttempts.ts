import { Context, type DateTime, type Duration, Effect, Option, Schema } from "effect"
import { RequestClaim } from "../../limits/IdempotentExecution.ts"
import type { UserId } from "../../shared/UserId.ts"
import type { CustomerId } from "./CardProcessor.ts"
import type { PricedCredits } from "./Purchase.ts"

/** The idempotency key of a purchase at the card processor. */
export const PurchaseAttemptId = Schema.String.pipe(Schema.brand("PurchaseAttemptId"))
export type PurchaseAttemptId = typeof PurchaseAttemptId.Type

/** `open`: outcome unknown. `refused`: nothing was charged, and a repetition is a new attempt. */
export type PurchaseAttemptState = "open" | "paid" | "refused"

/** A charge of a saved card. */
export interface SavedCharge {
  readonly customerId: CustomerId
  readonly purchase: PricedCredits
}

export interface PurchaseAttempt {
  readonly id: PurchaseAttemptId
  readonly state: PurchaseAttemptState
  /** Whether this request began it. */
  readonly isNew: boolean
  /** As it was when the attempt began; null for checkouts. */
  readonly charge: SavedCharge | null
}

export interface NewPurchaseAttempt {
  readonly userId: UserId
  /** Equal for equal purchases made in the same way. */
  readonly operation: string
  readonly charge: SavedCharge | null
  /** The request's idempotency key: all its repetitions are one attempt. */
  readonly reference: Option.Option<string>
  /** Without a reference, the same operation within this time is one attempt. */
  readonly repeatWindow: Duration.Duration
}

export interface OpenCharge extends SavedCharge {
  readonly id: PurchaseAttemptId
  readonly userId: UserId
  /** Time of the last request for it. */
  readonly triedAt: DateTime.Utc
}

/** Purchases under way, stored before the card processor is called, so that a repetition charges once. */
export class PurchaseAttempts extends Context.Tag("@berth/PurchaseAttempts")<
  PurchaseAttempts,
  {
    /** The attempt of the request, or a new one. */
    readonly begin: (attempt: NewPurchaseAttempt) => Effect.Effect<PurchaseAttempt>
    /** Joins the running transaction. `paid` is final. */
    readonly settle: (id: PurchaseAttemptId, state: Exclude<PurchaseAttemptState, "open">) => Effect.Effect<void>
    /** Postpones the next look-up of an open charge by marking it as tried now. */
    readonly touch: (id: PurchaseAttemptId) => Effect.Effect<void>
    /** Open charges not tried since `before`, oldest first. */
    readonly listOpenBefore: (before: DateTime.Utc, limit: number) => Effect.Effect<ReadonlyArray<OpenCharge>>
    /** Deletes attempts older than this. Returns the number deleted. */
    readonly prune: (age: Duration.Duration) => Effect.Effect<number>
  }
>() {}

/** The request's own key and route: a claim changes hands when a process dies, and the purchase stays the same. */
export const findRequestReference: Effect.Effect<Option.Option<string>> = Effect.map(
  RequestClaim,
  Option.map(({ key }) => `${key.route} ${key.key}`)
)
