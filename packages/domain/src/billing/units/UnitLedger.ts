import { Context, DateTime, Duration, Effect, Option, Schedule } from "effect"
import { Administrators } from "../../accounts/Administrators.ts"
import { DomainEvents } from "../../events/DomainEvents.ts"
import { noUnits, type Units } from "../../shared/Money.ts"
import type { AgentId } from "../../shared/AgentId.ts"
import type { User } from "../../shared/User.ts"
import { isBillingExempt } from "../BillingExemption.ts"
import { type BudgetExceeded, computeRemainingUnits } from "../budgets/Budget.ts"
import { findEntitlements } from "../subscriptions/Plan.ts"
import { type ReservationId, UnitsExhausted } from "./Reservation.ts"
import {
  type Delivery,
  ReservationRepository,
  type ReservationRequest,
  type UnitPayer
} from "./ReservationRepository.ts"
import { computeUnitUsage } from "./UnitSplit.ts"
import { withExportedSpan } from "../../shared/SpanExport.ts"

export class UnitPolicy extends Context.Tag("@berth/UnitPolicy")<
  UnitPolicy,
  {
    /** True in production: daily units of the free plan require a confirmed email address. */
    readonly confirmedEmailRequired: boolean
  }
>() {}

const awaitsConfirmation = (
  { emailVerifiedAt, plan }: UnitPayer,
  { confirmedEmailRequired }: Context.Tag.Service<UnitPolicy>
) => plan === "free" && confirmedEmailRequired && emailVerifiedAt === null

/** Returns the units that the payer can spend per UTC day. */
const findDailyUnits = (payer: UnitPayer, policy: Context.Tag.Service<UnitPolicy>): Units =>
  awaitsConfirmation(payer, policy) ? noUnits : findEntitlements(payer.plan).dailyUnits

/**
 * Time by which reservations outlive the last renewal of their process: those of a killed process end within a minute.
 */
const reservationLease = Duration.seconds(45)
const renewalInterval = Duration.seconds(15)

const meterInterval = Duration.millis(250)
/** A stream with a stored cost is metered once per second, since a count can take a pass over its text. */
const intervalsPerReading = 4

export type ReservationTerms = Omit<ReservationRequest, "cause">

interface Meter {
  readonly countUnits: Effect.Effect<Units>
  recorded: Units
}

/**
 * Units are reserved before work, then settled or released. The daily units of the reservation's UTC day are spent
 * first, then credits. Neither the balance nor a budget is ever overspent, and no reservation that fits is refused.
 */
export class UnitLedger extends Effect.Service<UnitLedger>()("@berth/UnitLedger", {
  scoped: Effect.gen(function* () {
    const reservations = yield* ReservationRepository
    const administrators = yield* Administrators
    const policy = yield* UnitPolicy
    const events = yield* DomainEvents
    const dailyUnitsOf = (payer: UnitPayer) => findDailyUnits(payer, policy)

    const renewLease = Effect.flatMap(DateTime.now, (now) =>
      reservations.renewLease(DateTime.addDuration(now, reservationLease))
    )
    yield* renewLease
    yield* renewLease.pipe(
      Effect.catchAllCause((cause) => Effect.logWarning("Reservation lease renewal failed", cause)),
      Effect.schedule(Schedule.spaced(renewalInterval)),
      Effect.withTracerEnabled(false),
      Effect.forkScoped
    )

    /** Cost of reservations whose closing failed, for example during an outage of the database. */
    const unclosed = new Map<ReservationId, Units>()
    const abandonUnclosed = Effect.suspend(() => {
      const costs = Array.from(unclosed, ([id, units]) => ({ id, units }))
      return Effect.map(reservations.abandon(costs), () => {
        for (const { id } of costs) unclosed.delete(id)
      })
    })

    const meters = new Map<ReservationId, Meter>()
    let intervals = 0
    const recordDeliveries = Effect.gen(function* () {
      intervals += 1
      if (unclosed.size > 0 && intervals % intervalsPerReading === 0) yield* abandonUnclosed
      const risen: Array<Delivery & { readonly meter: Meter }> = []
      for (const [id, meter] of meters) {
        if (meter.recorded > 0 && intervals % intervalsPerReading !== 0) continue
        const units = yield* meter.countUnits
        if (units > meter.recorded) risen.push({ id, units, meter })
      }
      if (risen.length === 0) return
      yield* reservations.recordDeliveries(risen.map(({ id, units }) => ({ id, units })))
      for (const { meter, units } of risen) meter.recorded = units
    })
    yield* recordDeliveries.pipe(
      Effect.catchAllCause((cause) => Effect.logWarning("Delivered units not recorded", cause)),
      Effect.schedule(Schedule.spaced(meterInterval)),
      Effect.withTracerEnabled(false),
      Effect.forkScoped
    )

    /**
     * Stores the cost of a stream's deliveries until the scope closes; the reservation of a killed process is settled
     * by it.
     */
    const meter = (id: ReservationId, countUnits: Effect.Effect<Units>) =>
      Effect.acquireRelease(
        Effect.sync(() => meters.set(id, { countUnits, recorded: noUnits })),
        () => Effect.sync(() => meters.delete(id))
      )

    /**
     * For callers whose transaction ends when `reserve` fails. Idempotent per user and UTC day, or per period of the
     * budget.
     */
    const announceExhaustion = Effect.fn("UnitLedger.announceExhaustion")(function* (
      { id }: User,
      refusal: UnitsExhausted | BudgetExceeded
    ) {
      const { key, ...data } =
        refusal._tag === "UnitsExhausted"
          ? {
              remainingUnits: refusal.remaining,
              requiredUnits: refusal.units,
              key: DateTime.formatIsoDateUtc(yield* DateTime.now)
            }
          : {
              remainingUnits: computeRemainingUnits(refusal.budget),
              requiredUnits: refusal.requiredUnits,
              key: `${refusal.budget.agentId ?? "account"} ${refusal.budget.period} ${DateTime.formatIsoDateUtc(refusal.renewsAt)}`
            }
      yield* events.append({ kind: "budget.reached", data }, id, `budget.reached ${id} ${key}`)
    })

    /** Returns the terms for a store that reserves together with the work; none for a user exempt from billing. */
    const describeReservation = (user: User, units: Units, agentId: AgentId | null): Option.Option<ReservationTerms> =>
      isBillingExempt(administrators, user) ? Option.none() : Option.some({ user, agentId, units, dailyUnitsOf })

    /** As `reserve`, for a caller that announces the exhaustion. */
    const reserveUnannounced = Effect.fnUntraced(function* (
      user: User,
      units: Units,
      cause: string,
      agentId: AgentId | null
    ) {
      const request = describeReservation(user, units, agentId)
      if (Option.isNone(request)) return Option.none<ReservationId>()
      const reserved = reservations
        .reserve({ cause, ...request.value })
        .pipe(
          Effect.catchTag(
            "UnitsExhausted",
            ({ remaining, units }) =>
              new UnitsExhausted({ units, remaining, awaitsConfirmation: awaitsConfirmation(user, policy) })
          )
        )
      const id = yield* reserved
      // A repetition of a request continues the reservation that its first run could not close.
      unclosed.delete(id)
      return Option.some(id)
    }, withExportedSpan("UnitLedger.reserve"))

    /** None for a user exempt from billing. `cause` names the work: one reservation per cause. */
    const reserve = (user: User, units: Units, cause: string, agentId: AgentId | null = null) =>
      Effect.tapError(reserveUnannounced(user, units, cause, agentId), (refusal) => announceExhaustion(user, refusal))

    /**
     * Raises an open reservation to at least `units` as far as balance and budgets allow. Returns its units; 0 if
     * closed. Idempotent.
     */
    const extend = Effect.fn("UnitLedger.extend")((id: ReservationId, units: Units) =>
      reservations.extend({ id, units, dailyUnitsOf })
    )

    /**
     * Books the used units. `reserved`: the units known to be reserved; usage above them is booked as far as balance
     * and budgets allow. `model`: the answering model, unless the charge names one. Idempotent.
     */
    const settle = (id: ReservationId, units: Units, reserved: Units = units, model?: string) =>
      withExportedSpan("UnitLedger.settle")(
        units > reserved
          ? Effect.zipRight(extend(id, units), reservations.settle(id, units, model))
          : reservations.settle(id, units, model)
      )

    /**
     * Settles, or releases for no units, at the end of work outside of a transaction. A failure leaves the closing to the
     * worker. Parameters as of `settle`.
     */
    const close = (id: ReservationId, units: Units, reserved?: Units, model?: string) =>
      Effect.catchAllCause(units === noUnits ? reservations.release(id) : settle(id, units, reserved, model), (cause) =>
        Effect.zipRight(
          Effect.sync(() => unclosed.set(id, units)),
          Effect.logWarning("Reservation not closed, left to the worker", cause)
        )
      )

    const findUsage = Effect.fn("UnitLedger.findUsage")(function* (user: UnitPayer & Pick<User, "id">) {
      return computeUnitUsage(dailyUnitsOf(user), yield* reservations.findUsedToday(user.id))
    })

    const { release, closeAbandoned } = reservations
    return {
      describeReservation,
      reserve,
      reserveUnannounced,
      extend,
      meter,
      settle,
      release,
      close,
      findUsage,
      closeAbandoned,
      announceExhaustion
    }
  })
}) {}
