import { Context, Data, type DateTime, type Duration, type Effect, type Option } from "effect"
import type { User } from "../../shared/User.ts"
import { idSchema } from "../../ids/IdGenerator.ts"
import type { UserId } from "../../shared/UserId.ts"

export const ReservationId = idSchema("ReservationId", "A reservation of units, rsv_…")
export type ReservationId = typeof ReservationId.Type

/** Neither the day's units nor the credits pay for `units` more. */
export class UnitsExhausted extends Data.TaggedError("UnitsExhausted")<{
  readonly units: number
  readonly remaining: number
}> {}

export interface UnitUsage {
  readonly dailyUnits: number
  readonly used: number
  readonly remaining: number
}

/**
 * Money before work: reserve what a call may cost, run it, settle what it did cost; a call that failed is released and
 * costs nothing. Exact at any concurrency: what is left is never overspent and never refuses what fits. Daily units of
 * the plan pay first (UTC day of the reservation), then credits (a hundred units each). Administrators reserve nothing.
 */
export class UnitLedger extends Context.Tag("@berth/UnitLedger")<
  UnitLedger,
  {
    /** `cause` names what is paid for (for example a message id): the same cause reserves once. */
    readonly reserve: (
      user: User,
      units: number,
      cause: string
    ) => Effect.Effect<Option.Option<ReservationId>, UnitsExhausted>
    /** Books the units that were used, at most the reserved ones. Settling or releasing again has no effect. */
    readonly settle: (id: ReservationId, units: number) => Effect.Effect<void>
    readonly release: (id: ReservationId) => Effect.Effect<void>
    readonly findUsage: (userId: UserId, dailyUnits: number) => Effect.Effect<UnitUsage>
    /** Releases reservations older than `age` whose call never came back; answers how many. */
    readonly releaseStale: (age: Duration.Duration, now: DateTime.Utc) => Effect.Effect<number>
  }
>() {}
