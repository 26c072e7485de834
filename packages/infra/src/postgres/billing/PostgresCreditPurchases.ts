import {
  type CreditBooking,
  type CreditBookingOutcome,
  CreditPurchases,
  describeCreditBooking,
  type CreditReversalOutcome
} from "@berth/domain/billing/credits/CreditPurchases"
import type { LedgerAccount } from "@berth/domain/billing/units/LedgerAudit"
import { countPayment } from "@berth/domain/billing/PaymentMetrics"
import { type Reversal, reversedUnits } from "@berth/domain/billing/Reversal"
import { convertCreditsToUnits, type Credits, type MinorUnits, noUnits, Units } from "@berth/domain/shared/Money"
import { IdGenerator } from "@berth/domain/ids/IdGenerator"
import { SqlClient } from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import { Data, DateTime, Effect, Option, Schema } from "effect"
import { makeLedgerWriter } from "./LedgerWriter.ts"
import { affectsRow, decodeFirstRow, decodeSingleRow } from "../Rows.ts"
import { MinorUnitsColumn, UnitsColumn } from "../shared/MoneyColumns.ts"
import { toStorableText } from "../StorableText.ts"
import { UserId } from "@berth/domain/shared/UserId"
import * as Repository from "../Repository.ts"

const Booked = Schema.Struct({ id: Schema.String })
const OwnerRow = Schema.Struct({ userId: Schema.NullOr(UserId) })
const CauseRow = Schema.Struct({ bookedAs: Schema.String })
const BookedPurchase = Schema.Struct({
  id: Schema.String,
  userId: Schema.NullOr(UserId),
  formerUser: Schema.NullOr(Schema.String),
  kind: Schema.Literal("purchase", "grant", "subscription"),
  units: UnitsColumn,
  amount: MinorUnitsColumn,
  reversedUnits: UnitsColumn,
  reversedAmount: MinorUnitsColumn
})
const Returned = Schema.Struct({ returned: MinorUnitsColumn })

/** Credits and amounts must be non-negative integers in their units. */
class BookingInvalid extends Data.TaggedError("BookingInvalid")<{
  readonly credits: Credits
  readonly amount: MinorUnits
}> {}

const sourceOf = (kind: CreditBooking["kind"]): LedgerAccount => (kind === "grant" ? "grants" : "purchases")

const make = Effect.gen(function* () {
  const sql = yield* SqlClient
  const ids = yield* IdGenerator
  const ledger = makeLedgerWriter(sql, ids)

  // Lock order: user before purchase.

  const hold = (userId: UserId) =>
    affectsRow(sql`select from users where id = ${toStorableText(userId)} for no key update`)

  const insert = Effect.fnUntraced(function* (booking: CreditBooking, units: Units) {
    const bookedAt = DateTime.toDate(yield* DateTime.now)
    return yield* sql`
      insert into purchases ${sql.insert({
        id: yield* ids.next("pur"),
        cause: toStorableText(booking.cause),
        userId: booking.userId,
        kind: booking.kind,
        description: toStorableText(describeCreditBooking(booking)),
        units,
        amount: booking.amount,
        currency: booking.currency,
        bookedAt
      })}
      on conflict (cause) do update
        set user_id = excluded.user_id, kind = excluded.kind, description = excluded.description,
          units = excluded.units, amount = excluded.amount, currency = excluded.currency,
          booked_at = excluded.booked_at, reversed_at = null
        where purchases.booked_at is null
      returning id`.pipe(decodeFirstRow(Booked))
  })

  const moveCredits = (userId: UserId | null, units: Units, reversed: Units) =>
    userId === null
      ? Effect.void
      : sql`
        update users set credit_units = credit_units + ${units}, reversed_units = reversed_units + ${reversed}
        where id = ${userId}`

  /** Books the difference between the booked and the reported reversals. */
  const settle = Effect.fnUntraced(function* (cause: string): Effect.fn.Return<CreditReversalOutcome, SqlError> {
    const owner = yield* sql`
      select user_id from purchases where cause = ${cause} and booked_at is not null`.pipe(decodeFirstRow(OwnerRow))
    if (Option.isNone(owner)) return "kept"
    if (owner.value.userId !== null) yield* hold(owner.value.userId)
    const purchase = yield* sql`
      select id, user_id, former_user, kind, units, amount, reversed_units, reversed_amount
      from purchases where cause = ${cause} for no key update`.pipe(decodeSingleRow(BookedPurchase))
    // A separate statement, so that it sees reversals committed during the wait for the row lock.
    const { returned } = yield* sql`
      select coalesce(sum(amount), 0)::text as returned from purchase_reversals
      where payment = ${cause} or payment in (select name from card_purchases where booked_as = ${cause})`.pipe(
      decodeSingleRow(Returned)
    )
    const reversed = reversedUnits(purchase, returned)
    const reversedAmount = Math.min(purchase.amount, returned)
    if (reversed === purchase.reversedUnits && reversedAmount === purchase.reversedAmount) return "reversed-before"
    const reversedAt = returned > 0 ? DateTime.toDate(yield* DateTime.now) : null
    yield* sql`
      update purchases
      set reversed_units = ${reversed}, reversed_amount = ${reversedAmount}, reversed_at = ${reversedAt}
      where id = ${purchase.id}`
    const { formerUser, id, kind, userId } = purchase
    const more = Units(reversed - purchase.reversedUnits)
    const change = Units(purchase.reversedUnits - reversed)
    yield* moveCredits(userId, change, more)
    const transaction = id.replace(/^pur_/, "rfd_")
    yield* ledger.move({
      userId,
      formerUser,
      cause,
      transaction,
      from: sourceOf(kind),
      to: "credits",
      units: change
    })
    return "reversed"
  })

  const book = Effect.fnUntraced(function* (
    booking: CreditBooking,
    units: Units
  ): Effect.fn.Return<CreditBookingOutcome, SqlError> {
    const { kind, userId } = booking
    if (!(yield* hold(userId))) return "unknown-user"
    const booked = yield* insert(booking, units)
    const cause = toStorableText(booking.cause)
    if (Option.isSome(booked)) {
      yield* moveCredits(userId, units, noUnits)
      const transaction = booked.value.id
      yield* ledger.move({ userId, from: sourceOf(kind), to: "credits", units, cause, transaction })
      if (kind !== "grant") countPayment("card", "paid")
    }
    // Applies to a purchase booked earlier too, since this booking may have added one of its ids.
    yield* settle(cause)
    return Option.isSome(booked) ? "booked" : "booked-before"
  })

  const reverse = Effect.fnUntraced(function* ({
    amount,
    source,
    version,
    ...reversal
  }: Reversal): Effect.fn.Return<CreditReversalOutcome, SqlError> {
    const payment = toStorableText(reversal.payment)
    // Takes the lock of card events on this name, so that none of them links it to a purchase concurrently.
    yield* sql`select pg_advisory_xact_lock(hashtextextended(${`card ${payment}`}, 0))`
    yield* sql`
      insert into purchase_reversals as known ${sql.insert({ payment, source: toStorableText(source), amount, version })}
      on conflict (payment, source) do update set amount = excluded.amount, version = excluded.version
        where known.version < excluded.version`
    const purchase = yield* sql`select booked_as from card_purchases where name = ${payment}`.pipe(
      decodeFirstRow(CauseRow)
    )
    const cause = Option.match(purchase, { onNone: () => payment, onSome: ({ bookedAs }) => bookedAs })
    const reversedAt = DateTime.toDate(yield* DateTime.now)
    // Waits for an uncommitted booking of the same cause, and makes later ones wait for this transaction.
    yield* sql`
      insert into purchases (id, cause, reversed_at) values (${yield* ids.next("pur")}, ${cause}, ${reversedAt})
      on conflict (cause) do nothing`
    return yield* settle(cause)
  })

  return CreditPurchases.of({
    book: (booking) =>
      Effect.gen(function* () {
        const { amount, credits } = booking
        const units = convertCreditsToUnits(credits)
        const isPossible = [amount, units].every((count) => Number.isSafeInteger(count) && count >= 0)
        if (!isPossible) return yield* Effect.die(new BookingInvalid({ credits, amount }))
        return yield* sql.withTransaction(book(booking, units)).pipe(Effect.orDie)
      }),
    reverse: (reversal) => sql.withTransaction(reverse(reversal)).pipe(Effect.orDie)
  })
})

export const layer = Repository.layerEffect(CreditPurchases, make)
