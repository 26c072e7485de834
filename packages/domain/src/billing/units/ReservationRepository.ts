import { Context, type DateTime, type Effect } from "effect"
import type { Units } from "../../shared/Money.ts"
import type { AgentId } from "../../shared/AgentId.ts"
import type { User } from "../../shared/User.ts"
import type { UserId } from "../../shared/UserId.ts"
import type { BudgetExceeded } from "../budgets/Budget.ts"
import type { ReservationId, UnitsExhausted } from "./Reservation.ts"

/** The part of a user that determines the daily units. */
export type UnitPayer = Pick<User, "plan" | "emailVerifiedAt">

export interface ReservationRequest {
  /** The user as read by the caller; the stored row decides. */
  readonly user: User
  /** Null for work without an agent. */
  readonly agentId: AgentId | null
  readonly units: Units
  /** Name of the paid work: one reservation per cause. */
  readonly cause: string
  readonly dailyUnitsOf: (payer: UnitPayer) => Units
}

export interface ReservationExtension {
  readonly id: ReservationId
  /** Minimum units of the reservation after the extension. */
  readonly units: Units
  readonly dailyUnitsOf: (payer: UnitPayer) => Units
}

/** Cost so far of the delivered part of a stream. */
export interface Delivery {
  readonly id: ReservationId
  readonly units: Units
}

/** Reservations of units. All methods are exact under concurrency; lock order: reservation, day, user. */
export class ReservationRepository extends Context.Tag("@berth/ReservationRepository")<
  ReservationRepository,
  {
    readonly reserve: (request: ReservationRequest) => Effect.Effect<ReservationId, UnitsExhausted | BudgetExceeded>
    /**
     * Raises an open reservation to `units` as far as its day's units, credits and budgets allow. Returns its units; 0
     * if closed. Idempotent.
     */
    readonly extend: (extension: ReservationExtension) => Effect.Effect<Units>
    /** Books the used units, at most the reserved ones. `model`: the answering model. Idempotent. */
    readonly settle: (id: ReservationId, units: Units, model?: string) => Effect.Effect<void>
    /** Returns all units to their sources. Idempotent. */
    readonly release: (id: ReservationId) => Effect.Effect<void>
    /** Units used or reserved in the current UTC day. */
    readonly findUsedToday: (userId: UserId) => Effect.Effect<Units>
    /** Extends the lease of this process's open reservations. */
    readonly renewLease: (expiresAt: DateTime.Utc) => Effect.Effect<void>
    /** Stores the cost of deliveries for open reservations. Never lowers it; at most the reserved units. */
    readonly recordDeliveries: (deliveries: ReadonlyArray<Delivery>) => Effect.Effect<void>
    /** Leaves open reservations of this process to `closeAbandoned`, with their cost; 0 releases. */
    readonly abandon: (costs: ReadonlyArray<Delivery>) => Effect.Effect<void>
    /**
     * Closes reservations of processes with an expired lease, except those of turns in progress: settles delivered
     * cost, and releases reservations without a delivery. Returns the number of closed reservations.
     */
    readonly closeAbandoned: (now: DateTime.Utc) => Effect.Effect<number>
    /**
     * Deletes closed reservations of days before `before` that the ledger audit has closed; budgets continue to count
     * them. Returns the number of deleted reservations.
     */
    readonly prune: (before: DateTime.Utc) => Effect.Effect<number>
  }
>() {}
