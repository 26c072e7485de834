import { Context, type DateTime, type Effect } from "effect"
import type { Units } from "../../shared/Money.ts"
import type { AgentId } from "../../shared/AgentId.ts"
import type { User } from "../../shared/User.ts"
import type { UserId } from "../../shared/UserId.ts"
import type { BudgetExceeded } from "../budgets/Budget.ts"
import type { ReservationId, UnitsExhausted } from "./Reservation.ts"

/** The part of a user that decides the daily units. */
export type UnitPayer = Pick<User, "plan" | "emailVerifiedAt">

export interface ReservationRequest {
  /** As the caller read it; the stored one decides. */
  readonly user: User
  /** Null for work without an agent. */
  readonly agentId: AgentId | null
  readonly units: Units
  /** Names the work paid for: one cause reserves once. */
  readonly cause: string
  readonly dailyUnitsOf: (payer: UnitPayer) => Units
}

export interface ReservationExtension {
  readonly id: ReservationId
  /** The units that the reservation should have at least. */
  readonly units: Units
  readonly dailyUnitsOf: (payer: UnitPayer) => Units
}

/** The cost so far of what a stream has delivered. */
export interface Delivery {
  readonly id: ReservationId
  readonly units: Units
}

/** Reservations of units. All methods are exact under any concurrency; lock order: reservation, day, user. */
export class ReservationRepository extends Context.Tag("@berth/ReservationRepository")<
  ReservationRepository,
  {
    readonly reserve: (request: ReservationRequest) => Effect.Effect<ReservationId, UnitsExhausted | BudgetExceeded>
    /** Raises an open reservation to `units` as far as its day's units, credits and budgets reach. Returns its units; 0 when closed. Idempotent. */
    readonly extend: (extension: ReservationExtension) => Effect.Effect<Units>
    /** Books the used units, at most the reserved ones. `model`: the one that answered. Idempotent. */
    readonly settle: (id: ReservationId, units: Units, model?: string) => Effect.Effect<void>
    /** Returns all units to where they came from. Idempotent. */
    readonly release: (id: ReservationId) => Effect.Effect<void>
    /** Units used or reserved in the current UTC day. */
    readonly findUsedToday: (userId: UserId) => Effect.Effect<Units>
    /** Keeps the open reservations of this process until then. */
    readonly renewLease: (expiresAt: DateTime.Utc) => Effect.Effect<void>
    /** Stores the cost of what has been delivered for open reservations. Never lowers it; at most the reserved units. */
    readonly recordDeliveries: (deliveries: ReadonlyArray<Delivery>) => Effect.Effect<void>
    /**
     * Closes reservations of processes with an expired lease, except those of turns in progress: settled on what was delivered,
     * released where nothing was. Returns the number closed.
     */
    readonly closeAbandoned: (now: DateTime.Utc) => Effect.Effect<number>
    /** Deletes closed reservations of days before `before` that the ledger audit has closed; budgets count them on. Returns the number deleted. */
    readonly prune: (before: DateTime.Utc) => Effect.Effect<number>
  }
>() {}
