import { CustomerId } from "@berth/domain/billing/checkout/CardProcessor"
import {
  PurchaseAttemptId,
  type NewPurchaseAttempt,
  PurchaseAttempts,
  type SavedCharge
} from "@berth/domain/billing/checkout/PurchaseAttempts"
import { IdGenerator } from "@berth/domain/ids/IdGenerator"
import { SqlClient } from "@effect/sql/SqlClient"
import { DateTime, Effect, Option, Schema } from "effect"
import { countAffectedRows, decodeFirstRow, decodeRows, execute } from "../Rows.ts"
import { CreditsColumn, MinorUnitsColumn } from "../shared/MoneyColumns.ts"
import { UserId } from "@berth/domain/shared/UserId"
import * as Repository from "../Repository.ts"

const chargeFields = {
  customerId: Schema.NullOr(CustomerId),
  credits: Schema.NullOr(CreditsColumn),
  amount: Schema.NullOr(MinorUnitsColumn),
  currency: Schema.NullOr(Schema.Literal("GBP", "USD"))
}
const AttemptRow = Schema.Struct({
  id: PurchaseAttemptId,
  state: Schema.Literal("open", "paid", "refused"),
  ...chargeFields
})
const OpenRow = Schema.Struct({
  id: PurchaseAttemptId,
  userId: UserId,
  triedAt: Schema.DateTimeUtcFromDate,
  ...chargeFields
})

const chargeOf = (row: Schema.Struct.Type<typeof chargeFields>): SavedCharge | null => {
  const { amount, credits, currency, customerId } = row
  return amount === null || credits === null || currency === null || customerId === null
    ? null
    : { customerId, purchase: { kind: "credits", credits, price: { amount, currency } } }
}

const columnsOf = (charge: SavedCharge | null) =>
  charge === null ? {} : { customerId: charge.customerId, credits: charge.purchase.credits, ...charge.purchase.price }

const make = Effect.gen(function* () {
  const sql = yield* SqlClient
  const ids = yield* IdGenerator

  const columns = sql`id, state, customer_id, credits, amount, currency`

  const find = ({ operation, reference, repeatWindow, userId }: NewPurchaseAttempt, now: DateTime.Utc) => {
    return Option.match(reference, {
      onSome: (name) => sql`
        select ${columns} from purchase_attempts
        where user_id = ${userId} and operation = ${operation} and reference = ${name} and state <> 'refused'`,
      onNone: () => sql`
        select ${columns} from purchase_attempts
        where user_id = ${userId} and operation = ${operation} and reference is null and state <> 'refused'
          and created_at > ${DateTime.toDate(DateTime.subtractDuration(now, repeatWindow))}
        order by created_at desc, id desc limit 1`
    }).pipe(decodeFirstRow(AttemptRow))
  }

  const touch = (id: PurchaseAttemptId) =>
    Effect.flatMap(
      DateTime.now,
      (now) => sql`update purchase_attempts set tried_at = ${DateTime.toDate(now)} where id = ${id}`
    )

  const begin = (attempt: NewPurchaseAttempt) =>
    sql.withTransaction(
      Effect.gen(function* () {
        const { charge, operation, reference, userId } = attempt
        // Serializes a user's attempts, so that the second finds the first one's attempt.
        yield* sql`select pg_advisory_xact_lock(hashtextextended(${`berth.purchase ${userId}`}, 0))`
        const now = yield* DateTime.now
        const stored = yield* find(attempt, now)
        if (Option.isSome(stored)) {
          const { id, state, ...rest } = stored.value
          if (state === "open") yield* touch(id)
          return { id, state, isNew: false, charge: chargeOf(rest) }
        }
        const id = PurchaseAttemptId.make(yield* ids.next("req"))
        yield* sql`insert into purchase_attempts ${sql.insert({
          id,
          userId,
          operation,
          reference: Option.getOrNull(reference),
          state: "open",
          createdAt: DateTime.toDate(now),
          triedAt: DateTime.toDate(now),
          ...columnsOf(charge)
        })}`
        return { id, state: "open" as const, isNew: true, charge }
      })
    )

  return PurchaseAttempts.of({
    begin: (attempt) => Effect.orDie(begin(attempt)),
    settle: (id, state) =>
      execute(
        sql`update purchase_attempts set state = ${state} where id = ${id} and (state = 'open' or ${state} = 'paid')`
      ),
    touch: (id) => Effect.orDie(Effect.asVoid(touch(id))),
    listOpenBefore: (before, limit) =>
      sql`
        select id, user_id, tried_at, customer_id, credits, amount, currency from purchase_attempts
        where state = 'open' and customer_id is not null and tried_at < ${DateTime.toDate(before)}
        order by tried_at limit ${limit}`.pipe(
        decodeRows(OpenRow),
        Effect.map((rows) =>
          rows.flatMap(({ id, triedAt, userId, ...rest }) => {
            const charge = chargeOf(rest)
            return charge === null ? [] : [{ id, userId, triedAt, ...charge }]
          })
        )
      ),
    prune: (age) =>
      Effect.gen(function* () {
        const before = DateTime.subtractDuration(yield* DateTime.now, age)
        return yield* countAffectedRows(
          sql`delete from purchase_attempts where created_at < ${DateTime.toDate(before)}`
        )
      })
  })
})

export const layer = Repository.layerEffect(PurchaseAttempts, make)
