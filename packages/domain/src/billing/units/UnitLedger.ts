import { Effect, Option } from "effect"
import { Administrators } from "../../accounts/Administrators.ts"
import type { User } from "../../shared/User.ts"
import { isBillingExempt } from "../BillingExemption.ts"
import { findEntitlements } from "../subscriptions/Plan.ts"
import type { ReservationId } from "./Reservation.ts"
import { ReservationRepository, type UnitPayer } from "./ReservationRepository.ts"
import { computeUnitUsage } from "./UnitSplit.ts"

const findDailyUnits = ({ plan }: UnitPayer): number => findEntitlements(plan).dailyUnits

/**
 * Units are reserved before work, then settled or released. Daily units of the UTC day of the reservation pay first, then
 * credits. The balance is never overspent, and nothing that fits is refused.
 */
export class UnitLedger extends Effect.Service<UnitLedger>()("@berth/UnitLedger", {
  effect: Effect.gen(function* () {
    const reservations = yield* ReservationRepository
    const administrators = yield* Administrators

    /** None for a user exempt from billing. `cause` names the work: the same cause reserves once. */
    const reserve = Effect.fn("UnitLedger.reserve")(function* (user: User, units: number, cause: string) {
      if (isBillingExempt(administrators, user)) return Option.none<ReservationId>()
      return Option.some(yield* reservations.reserve({ user, units, cause, dailyUnitsOf: findDailyUnits }))
    })

    const findUsage = Effect.fn("UnitLedger.findUsage")(function* (user: UnitPayer & Pick<User, "id">) {
      return computeUnitUsage(findDailyUnits(user), yield* reservations.findUsedToday(user.id))
    })

    const { release, releaseStale, settle } = reservations
    return { reserve, settle, release, findUsage, releaseStale }
  })
}) {}
