import { UserId } from "@berth/domain/accounts/User"
import {
  type Booking,
  type BookingOutcome,
  CreditPurchases,
  describeBooking,
  type ReversalOutcome
} from "@berth/domain/billing/CreditPurchases"
import type { LedgerAccount } from "@berth/domain/billing/Ledger"
import { unitsOfCredits } from "@berth/domain/billing/UnitSplit"
import { IdGenerator } from "@berth/domain/ids/IdGenerator"
import { SqlClient } from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import { Data, DateTime, Effect, Layer, Option, Schema } from "effect"
import { makeLedger } from "./Ledger.ts"
import { affected, first } from "./Rows.ts"
import { storableText } from "./Storable.ts"

const Moment = Schema.NullOr(Schema.DateFromSelf)
const Booked = Schema.Struct({ id: Schema.String, reversedAt: Moment })
const Known = Schema.Struct({ userId: Schema.NullOr(UserId), bookedAt: Moment })
const Reversed = Schema.Struct({
  id: Schema.String,
  userId: Schema.NullOr(UserId),
  formerUser: Schema.NullOr(Schema.String),
  kind: Schema.Literal("purchase", "grant", "subscription"),
  units: Schema.NumberFromString
})

/** Neither credits nor money are less than nothing, and cents are whole. */
export class BookingIsImpossible extends Data.TaggedError("BookingIsImpossible")<{
  readonly credits: number
  readonly amount: number
}> {}

/** Where the credits of a booking come from, and go back to. */
const sourceOf = (kind: Booking["kind"]): LedgerAccount => (kind === "grant" ? "grants" : "purchases")

const make = Effect.gen(function* () {
  const sql = yield* SqlClient
  const ids = yield* IdGenerator
  const ledger = makeLedger(sql, ids)

  // Both take their rows in one order, user, purchase, which is also that of whoever holds a user and then books for him.

  const hold = (userId: UserId) =>
    affected(sql`select from users where id = ${storableText(userId)} for no key update`).pipe(
      Effect.map((held) => held === 1)
    )

  const insert = (booking: Booking, units: number) =>
    Effect.gen(function* () {
      const bookedAt = DateTime.toDate(yield* DateTime.now)
      return yield* sql`
        insert into purchases ${sql.insert({
          id: yield* ids.next("pur"),
          cause: storableText(booking.cause),
          userId: booking.userId,
          kind: booking.kind,
          description: storableText(describeBooking(booking)),
          units,
          amount: booking.amount,
          currency: booking.currency,
          bookedAt
        })}
        on conflict (cause) do update
          set user_id = excluded.user_id, kind = excluded.kind, description = excluded.description,
            units = excluded.units, amount = excluded.amount, currency = excluded.currency,
            booked_at = excluded.booked_at
          where purchases.booked_at is null
        returning id, reversed_at`.pipe(first(Booked))
    })

  /** Moves the credits of a purchase, and the books with them; below zero for its reversal. */
  const move = (purchase: Omit<typeof Reversed.Type, "id">, cause: string, transaction: string) =>
    Effect.gen(function* () {
      const { formerUser, kind, units, userId } = purchase
      if (userId !== null && units !== 0)
        yield* sql`
          update users
          set credit_units = credit_units + ${units}, reversed_units = reversed_units + ${Math.max(0, -units)}
          where id = ${userId}`
      yield* ledger.move({ userId, formerUser, from: sourceOf(kind), to: "credits", units, cause, transaction })
    })

  const reversalOf = (id: string) => id.replace(/^pur_/, "rfd_")

  const book = (booking: Booking, units: number): Effect.Effect<BookingOutcome, SqlError> =>
    Effect.gen(function* () {
      if (!(yield* hold(booking.userId))) return "unknown-user"
      const booked = yield* insert(booking, units)
      if (Option.isNone(booked)) return "booked-before"
      const { id, reversedAt } = booked.value
      const purchase = { userId: booking.userId, formerUser: null, kind: booking.kind }
      const cause = storableText(booking.cause)
      yield* move({ ...purchase, units }, cause, id)
      // Its money went back before it was told of.
      if (reversedAt !== null) yield* move({ ...purchase, units: -units }, cause, reversalOf(id))
      return "booked"
    })

  const reverse = (cause: string): Effect.Effect<ReversalOutcome, SqlError> =>
    Effect.gen(function* () {
      const reversedAt = DateTime.toDate(yield* DateTime.now)
      const known = yield* sql`select user_id, booked_at from purchases where cause = ${cause}`.pipe(first(Known))
      if (Option.isNone(known)) {
        const kept = yield* affected(sql`
          insert into purchases (id, cause, reversed_at) values (${yield* ids.next("pur")}, ${cause}, ${reversedAt})
          on conflict (cause) do nothing`)
        // It was booked between the two looks.
        return kept === 1 ? "kept" : yield* reverse(cause)
      }
      if (known.value.bookedAt === null) return "kept"
      if (known.value.userId !== null) yield* hold(known.value.userId)
      const reversed = yield* sql`
        update purchases set reversed_at = ${reversedAt} where cause = ${cause} and reversed_at is null
        returning id, user_id, former_user, kind, units`.pipe(first(Reversed))
      if (Option.isNone(reversed)) return "reversed-before"
      const { id, units, ...purchase } = reversed.value
      yield* move({ ...purchase, units: -units }, cause, reversalOf(id))
      return "reversed"
    })

  return CreditPurchases.of({
    book: Effect.fn("CreditPurchases.book")(function* (booking: Booking) {
      const { amount, credits } = booking
      const units = unitsOfCredits(credits)
      const isPossible = [amount, units].every((count) => Number.isSafeInteger(count) && count >= 0)
      if (!isPossible) return yield* Effect.die(new BookingIsImpossible({ credits, amount }))
      return yield* sql.withTransaction(book(booking, units)).pipe(Effect.orDie)
    }),
    reverse: Effect.fn("CreditPurchases.reverse")(({ cause }: { readonly cause: string }) =>
      sql.withTransaction(reverse(storableText(cause))).pipe(Effect.orDie)
    )
  })
})

export const layer: Layer.Layer<CreditPurchases, never, SqlClient | IdGenerator> = Layer.effect(CreditPurchases, make)
