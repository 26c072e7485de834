import { type Budget, type BudgetLimit, computeRoom } from "@berth/domain/billing/budgets/Budget"
import type { LedgerEntry } from "./LedgerSums.ts"
import { type Reversal, reversedUnits } from "@berth/domain/billing/Reversal"
import {
  extendSplit,
  roundUpUnits,
  takeUnits,
  type UnitSplit,
  computeUnitUsage
} from "@berth/domain/billing/units/UnitSplit"
import { Either, FastCheck } from "effect"
import { Units, MinorUnits } from "@berth/domain/shared/Money"
import { AgentId } from "@berth/domain/shared/AgentId"

/** Operations on an account. Few causes, so that most operations are repeated. */
export type LedgerOperation =
  | { readonly is: "reserve"; readonly cause: string; readonly units: number }
  | { readonly is: "extend"; readonly cause: string; readonly units: number }
  | { readonly is: "settle"; readonly cause: string; readonly units: number }
  /** Settles more than the reservation, up to balance and budgets. */
  | { readonly is: "settle beyond"; readonly cause: string; readonly units: number }
  | { readonly is: "release"; readonly cause: string }
  | {
      readonly is: "book"
      readonly cause: string
      readonly units: number
      readonly amount: number
      readonly kind: "purchase" | "grant"
    }
  | { readonly is: "reverse"; readonly cause: string; readonly reversal: Omit<Reversal, "payment"> }
  | { readonly is: "limit"; readonly limits: ReadonlyArray<BudgetLimit> }
  | { readonly is: "remove agent"; readonly agentId: AgentId }
  /** Applies the retention to the days before yesterday. */
  | { readonly is: "prune" }
  | { readonly is: "midnight" }
  | { readonly is: "month" }

/** The agents of the account. */
export const agentIds = ["agt_1", "agt_2"].map((id) => AgentId.make(id))

/** The agent of a cause; the last cause has none. */
export const agentOf = (cause: string): AgentId | null =>
  (cause === "call 4" ? undefined : agentIds[cause === "call 3" ? 1 : 0]) ?? null

/** Books at most the reserved units and returns the rest, credits first. */
const settleUnits = (reserved: UnitSplit, units: Units) => {
  const used = Math.min(roundUpUnits(units), reserved.daily + reserved.credit)
  const daily = Units(Math.min(used, reserved.daily))
  const credit = Units(used - daily)
  return {
    booked: { daily, credit },
    returned: { daily: Units(reserved.daily - daily), credit: Units(reserved.credit - credit) }
  }
}

/** Days of an operation that reaches the next month or the one after it. */
export const daysToMonth = 31

const call = FastCheck.constantFrom("call 1", "call 2", "call 3", "call 4")
const sale = FastCheck.constantFrom("sale 1", "sale 2", "sale 3")
const units = FastCheck.nat(90)
/** Units and price of a cause, equal in every report. */
const soldOf = (cause: string) => ({
  units: cause === "sale 1" ? 40 : cause === "sale 2" ? 75 : 120,
  amount: cause === "sale 1" ? 33 : cause === "sale 2" ? 75 : 0,
  kind: cause === "sale 3" ? ("grant" as const) : ("purchase" as const)
})

/** Refunds of one charge add up; a dispute withholds money and closes with one outcome. */
const reversals: ReadonlyArray<Omit<Reversal, "payment">> = [
  ...[0, 10, 20, 100].map((amount) => ({ source: "charge", amount: MinorUnits(amount), version: amount })),
  { source: "dispute 1", amount: MinorUnits(30), version: 1 },
  { source: "dispute 1", amount: MinorUnits(0), version: 2 },
  { source: "dispute 2", amount: MinorUnits(5), version: 1 },
  { source: "dispute 2", amount: MinorUnits(5), version: 2 }
]
export const reversalOf = (cause: string) =>
  FastCheck.constantFrom(...reversals).map((reversal) => ({ is: "reverse" as const, cause, reversal }))

/** At most one budget per agent, or none, and period. */
export const budgetLimits = FastCheck.uniqueArray(
  FastCheck.record({
    agentId: FastCheck.constantFrom(null, ...agentIds),
    period: FastCheck.constantFrom("day" as const, "month" as const),
    units: FastCheck.nat(120).map((most) => Units(most))
  }),
  { maxLength: 3, selector: ({ agentId, period }) => `${agentId} ${period}` }
)

const ledgerOperation: FastCheck.Arbitrary<LedgerOperation> = FastCheck.oneof(
  { arbitrary: FastCheck.record({ is: FastCheck.constant("reserve" as const), cause: call, units }), weight: 4 },
  { arbitrary: FastCheck.record({ is: FastCheck.constant("extend" as const), cause: call, units }), weight: 3 },
  { arbitrary: FastCheck.record({ is: FastCheck.constant("settle" as const), cause: call, units }), weight: 3 },
  { arbitrary: FastCheck.record({ is: FastCheck.constant("settle beyond" as const), cause: call, units }), weight: 2 },
  { arbitrary: FastCheck.record({ is: FastCheck.constant("release" as const), cause: call }), weight: 2 },
  { arbitrary: sale.map((cause) => ({ is: "book" as const, cause, ...soldOf(cause) })), weight: 3 },
  { arbitrary: sale.chain(reversalOf), weight: 3 },
  { arbitrary: budgetLimits.map((limits) => ({ is: "limit" as const, limits })), weight: 2 },
  {
    arbitrary: FastCheck.constantFrom(...agentIds).map((agentId) => ({ is: "remove agent" as const, agentId })),
    weight: 1
  },
  { arbitrary: FastCheck.constant({ is: "prune" as const }), weight: 1 },
  { arbitrary: FastCheck.constant({ is: "month" as const }), weight: 1 },
  { arbitrary: FastCheck.constant({ is: "midnight" as const }), weight: 1 }
)

export const ledgerOperations = (maxLength: number) => FastCheck.array(ledgerOperation, { minLength: 1, maxLength })

interface Sale {
  readonly booked: boolean
  readonly reversals: ReadonlyArray<Omit<Reversal, "payment">>
}

/** Returned money by the latest report of each source. */
export const returnedOf = (reversals: Sale["reversals"]): MinorUnits => {
  const latest = new Map<string, Omit<Reversal, "payment">>()
  for (const one of reversals) if ((latest.get(one.source)?.version ?? -1) < one.version) latest.set(one.source, one)
  return MinorUnits([...latest.values()].reduce((sum, { amount }) => sum + amount, 0))
}

interface Reservation {
  readonly taken: UnitSplit
  readonly day: number
  readonly state: "reserved" | "settled"
}

/** Reference implementation of an account in memory. */
export class LedgerModel {
  readonly dailyUnits = 50
  today = 0
  readonly days = new Map<number, number>()
  credits = 0
  readonly entries: Array<LedgerEntry> = []
  readonly #reservations = new Map<string, Reservation>()
  readonly #sales = new Map<string, Sale>()
  #limits: ReadonlyArray<BudgetLimit> = []
  readonly #removed = new Set<AgentId>()
  readonly #pruned = new Set<number>()
  readonly #spent: Array<{ readonly agentId: AgentId | null; readonly day: number; readonly units: number }> = []

  #move(transactionId: string, from: LedgerEntry["account"], to: LedgerEntry["account"], moved: number) {
    this.entries.push({ transactionId, account: from, units: -moved }, { transactionId, account: to, units: moved })
  }

  #count(day: number, more: number) {
    this.days.set(day, (this.days.get(day) ?? 0) + more)
  }

  #spend(cause: string, day: number, units: number) {
    this.#spent.push({ agentId: agentOf(cause), day, units })
  }

  /** The daily units used on the retained days. */
  get used(): number {
    return [...this.days].reduce((sum, [day, used]) => (this.#pruned.has(day) ? sum : sum + used), 0)
  }

  /** The budgets for reservations of a day. */
  budgetsOf(day: number): ReadonlyArray<Budget> {
    const periodOf = (day: number, period: Budget["period"]) =>
      new Date(day * 86_400_000).toISOString().slice(0, period === "day" ? 10 : 7)
    return this.#limits.map((limit) => ({
      ...limit,
      usedUnits: Units(
        this.#spent
          .filter(
            (one) =>
              (limit.agentId === null || one.agentId === limit.agentId) &&
              periodOf(one.day, limit.period) === periodOf(day, limit.period)
          )
          .reduce((sum, { units }) => sum + units, 0)
      )
    }))
  }

  #roomOf(cause: string, day: number) {
    return computeRoom(this.budgetsOf(day).filter(({ agentId }) => agentId === null || agentId === agentOf(cause)))
  }

  #extend(cause: string, units: number) {
    const reservation = this.#reservations.get(cause)
    if (reservation?.state !== "reserved") return 0
    const { day, taken } = reservation
    const { remaining } = computeUnitUsage(Units(this.dailyUnits), Units(this.days.get(day) ?? 0))
    const extended = extendSplit(
      taken,
      { daily: remaining, credit: Units(Math.max(0, this.credits)) },
      Units(Math.min(units, taken.daily + taken.credit + this.#roomOf(cause, day)))
    )
    this.#count(day, extended.daily - taken.daily)
    this.#spend(cause, day, extended.daily + extended.credit - taken.daily - taken.credit)
    this.credits -= extended.credit - taken.credit
    this.#reservations.set(cause, { ...reservation, taken: extended })
    return extended.daily + extended.credit
  }

  /** Removes settled reservations of the days before yesterday, and a day once it has no open reservation. */
  #prune() {
    for (const [cause, { day, state }] of this.#reservations)
      if (state === "settled" && day < this.today - 1) this.#reservations.delete(cause)
    const open = new Set(this.held.map(({ day }) => day))
    for (const day of this.days.keys()) if (day < this.today - 1 && !open.has(day)) this.#pruned.add(day)
  }

  #close(cause: string, used: number, keeps: boolean) {
    const reservation = this.#reservations.get(cause)
    if (reservation?.state !== "reserved") return
    const { booked, returned } = settleUnits(reservation.taken, Units(used))
    this.#count(reservation.day, 0 - returned.daily)
    this.#spend(cause, reservation.day, 0 - returned.daily - returned.credit)
    this.credits += returned.credit
    this.#move(cause, "allowance", "usage", booked.daily)
    this.#move(cause, "credits", "usage", booked.credit)
    if (keeps) this.#reservations.set(cause, { ...reservation, taken: booked, state: "settled" })
    else this.#reservations.delete(cause)
  }

  /**
   * False if the balance does not cover the reservation or a removed agent has the budget, "budget" if a budget is
   * exhausted, the units of an extended reservation. Repeated reservations return their first result.
   */
  apply(what: LedgerOperation): boolean | number | "budget" {
    switch (what.is) {
      case "limit":
        if (what.limits.some(({ agentId }) => agentId !== null && this.#removed.has(agentId))) return false
        this.#limits = what.limits
        return true
      case "remove agent":
        this.#removed.add(what.agentId)
        this.#limits = this.#limits.filter(({ agentId }) => agentId !== what.agentId)
        return true
      case "month":
        this.today += daysToMonth
        return true
      case "midnight":
        this.today += 1
        return true
      case "reserve": {
        if (this.#reservations.has(what.cause)) return true
        if (what.units > this.#roomOf(what.cause, this.today)) return "budget"
        const { remaining } = computeUnitUsage(Units(this.dailyUnits), Units(this.days.get(this.today) ?? 0))
        const taken = takeUnits({ daily: remaining, credit: Units(Math.max(0, this.credits)) }, Units(what.units))
        if (Either.isLeft(taken)) return false
        this.#count(this.today, taken.right.daily)
        this.#spend(what.cause, this.today, what.units)
        this.credits -= taken.right.credit
        this.#reservations.set(what.cause, { taken: taken.right, day: this.today, state: "reserved" })
        return true
      }
      case "extend":
        return this.#extend(what.cause, what.units)
      case "settle beyond":
        this.#extend(what.cause, what.units)
        this.#close(what.cause, what.units, true)
        return true
      case "prune":
        this.#prune()
        return true
      case "settle":
        this.#close(what.cause, what.units, true)
        return true
      case "release":
        this.#close(what.cause, 0, false)
        return true
      case "book":
      case "reverse": {
        const { amount, kind, units: sold } = soldOf(what.cause)
        const before = this.#sales.get(what.cause) ?? { booked: false, reversals: [] }
        const after =
          what.is === "book"
            ? { ...before, booked: true }
            : { ...before, reversals: [...before.reversals, what.reversal] }
        this.#sales.set(what.cause, after)
        const worth = ({ booked, reversals: known }: Sale) =>
          booked ? sold - reversedUnits({ units: Units(sold), amount: MinorUnits(amount) }, returnedOf(known)) : 0
        const change = worth(after) - worth(before)
        this.credits += change
        this.#move(what.cause, kind === "grant" ? "grants" : "purchases", "credits", change)
        return true
      }
    }
  }

  /** The open reservations. */
  get held(): ReadonlyArray<Reservation> {
    return [...this.#reservations.values()].filter(({ state }) => state === "reserved")
  }

  /** Releases all open reservations. */
  releaseAll() {
    for (const cause of this.#reservations.keys()) this.#close(cause, 0, false)
  }
}
