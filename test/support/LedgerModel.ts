import { type LedgerEntry } from "@berth/domain/billing/Ledger"
import { settleUnits, takeUnits, type UnitSplit, usageOf } from "@berth/domain/billing/UnitSplit"
import { Either, FastCheck } from "effect"

/** What can happen to an account, in the order in which it is told. Few causes, so that most things happen again. */
export type Happening =
  | { readonly is: "reserve"; readonly cause: string; readonly units: number }
  | { readonly is: "settle"; readonly cause: string; readonly units: number }
  | { readonly is: "release"; readonly cause: string }
  | { readonly is: "book"; readonly cause: string; readonly units: number; readonly kind: "purchase" | "grant" }
  | { readonly is: "reverse"; readonly cause: string }
  | { readonly is: "midnight" }

const call = FastCheck.constantFrom("call 1", "call 2", "call 3", "call 4")
const sale = FastCheck.constantFrom("sale 1", "sale 2", "sale 3")
const units = FastCheck.nat(90)
/** What a cause was booked with is the same whoever tells of it. */
const soldOf = (cause: string) => ({
  units: cause === "sale 1" ? 40 : cause === "sale 2" ? 75 : 120,
  kind: cause === "sale 3" ? ("grant" as const) : ("purchase" as const)
})

const happening: FastCheck.Arbitrary<Happening> = FastCheck.oneof(
  { arbitrary: FastCheck.record({ is: FastCheck.constant("reserve" as const), cause: call, units }), weight: 4 },
  { arbitrary: FastCheck.record({ is: FastCheck.constant("settle" as const), cause: call, units }), weight: 3 },
  { arbitrary: FastCheck.record({ is: FastCheck.constant("release" as const), cause: call }), weight: 2 },
  { arbitrary: sale.map((cause) => ({ is: "book" as const, cause, ...soldOf(cause) })), weight: 3 },
  { arbitrary: FastCheck.record({ is: FastCheck.constant("reverse" as const), cause: sale }), weight: 2 },
  { arbitrary: FastCheck.constant({ is: "midnight" as const }), weight: 1 }
)

export const happenings = (maxLength: number) => FastCheck.array(happening, { minLength: 1, maxLength })

interface Reservation {
  readonly taken: UnitSplit
  readonly day: number
  readonly state: "reserved" | "settled"
}

/** An account as it should be, on plain variables: what the real one is compared with. */
export class LedgerModel {
  readonly dailyUnits = 50
  today = 0
  readonly days = new Map<number, number>()
  credits = 0
  readonly entries: Array<LedgerEntry> = []
  readonly #reservations = new Map<string, Reservation>()
  readonly #sales = new Map<string, { booked: boolean; reversed: boolean }>()

  #move(transactionId: string, from: LedgerEntry["account"], to: LedgerEntry["account"], moved: number) {
    this.entries.push({ transactionId, account: from, units: -moved }, { transactionId, account: to, units: moved })
  }

  #count(day: number, more: number) {
    this.days.set(day, (this.days.get(day) ?? 0) + more)
  }

  #close(cause: string, used: number, keeps: boolean) {
    const reservation = this.#reservations.get(cause)
    if (reservation?.state !== "reserved") return
    const { booked, returned } = settleUnits(reservation.taken, used)
    this.#count(reservation.day, -returned.daily)
    this.credits += returned.credit
    this.#move(cause, "allowance", "usage", booked.daily)
    this.#move(cause, "credits", "usage", booked.credit)
    if (keeps) this.#reservations.set(cause, { ...reservation, taken: booked, state: "settled" })
    else this.#reservations.delete(cause)
  }

  /** False for a reservation that is refused; a repetition answers as the first time. */
  does(what: Happening): boolean {
    switch (what.is) {
      case "midnight":
        this.today += 1
        return true
      case "reserve": {
        if (this.#reservations.has(what.cause)) return true
        const { remaining } = usageOf(this.dailyUnits, this.days.get(this.today) ?? 0)
        const taken = takeUnits({ daily: remaining, credit: Math.max(0, this.credits) }, what.units)
        if (Either.isLeft(taken)) return false
        this.#count(this.today, taken.right.daily)
        this.credits -= taken.right.credit
        this.#reservations.set(what.cause, { taken: taken.right, day: this.today, state: "reserved" })
        return true
      }
      case "settle":
        this.#close(what.cause, what.units, true)
        return true
      case "release":
        this.#close(what.cause, 0, false)
        return true
      case "book":
      case "reverse": {
        const { kind, units: sold } = soldOf(what.cause)
        const before = this.#sales.get(what.cause) ?? { booked: false, reversed: false }
        const after = { ...before, [what.is === "book" ? "booked" : "reversed"]: true }
        this.#sales.set(what.cause, after)
        const worth = (state: typeof before) => (state.booked && !state.reversed ? sold : 0)
        const change = worth(after) - worth(before)
        this.credits += change
        this.#move(what.cause, kind === "grant" ? "grants" : "purchases", "credits", change)
        return true
      }
    }
  }

  /** What calls under way hold of the credits, and of a day. */
  get held(): ReadonlyArray<Reservation> {
    return [...this.#reservations.values()].filter(({ state }) => state === "reserved")
  }

  /** Ends every call that is under way as one that failed. */
  releaseAll() {
    for (const cause of this.#reservations.keys()) this.#close(cause, 0, false)
  }
}
