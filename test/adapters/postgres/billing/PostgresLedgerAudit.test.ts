import { UnitLedger } from "@berth/domain/billing/units/UnitLedger"
import { CreditPurchases } from "@berth/domain/billing/credits/CreditPurchases"
import { LedgerAudit } from "@berth/domain/billing/units/LedgerAudit"
import { ReservationRepository } from "@berth/domain/billing/units/ReservationRepository"
import { SqlClient } from "@effect/sql/SqlClient"
import { assert, layer } from "@effect/vitest"
import { DateTime, Effect, Option } from "effect"
import { BillingServices, refundOf } from "../../../support/billing/BillingServices.ts"
import { insertUser, uniqueName } from "../../../support/Samples.ts"
import { Units, Credits, MinorUnits } from "@berth/domain/shared/Money"

/** A user with credits, a settled call and an open one. */
const customer = Effect.gen(function* () {
  const { reserve, settle } = yield* UnitLedger
  const { book } = yield* CreditPurchases
  const user = yield* insertUser()
  const cause = yield* uniqueName("cs")
  yield* book({
    userId: user.id,
    credits: Credits(5),
    cause,
    amount: MinorUnits(500),
    currency: "USD",
    kind: "purchase"
  })
  yield* settle(Option.getOrThrow(yield* reserve(user, Units(70), "settled")), Units(65))
  yield* reserve(user, Units(30), "held")
  return { user, cause }
})

layer(BillingServices, { excludeTestServices: true })("LedgerAudit", (it) => {
  it.effect("LedgerAudit finds no discrepancy in balanced books over several batches", () =>
    Effect.gen(function* () {
      const audit = yield* LedgerAudit
      const { reverse } = yield* CreditPurchases
      const { cause } = yield* customer
      yield* reverse(refundOf(cause))
      const sql = yield* SqlClient
      yield* sql`
        insert into users (id, email, name, notifications, referral_code, created_at)
        select 'usr_crowd' || n, 'crowd' || n || '@example.com', 'crowd', '{}', 'crowd' || n, now()
        from generate_series(1, 450) as n`
      yield* customer
      assert.deepStrictEqual(yield* audit.findDiscrepancies, [])
    })
  )

  it.effect("LedgerAudit finds each balance that was changed without the ledger, and changes nothing", () =>
    Effect.gen(function* () {
      const audit = yield* LedgerAudit
      const sql = yield* SqlClient
      const { user } = yield* customer
      const spoilt = (spoil: Effect.Effect<unknown, unknown>, mend: Effect.Effect<unknown, unknown>) =>
        Effect.gen(function* () {
          yield* spoil
          const found = yield* audit.findDiscrepancies
          assert.deepStrictEqual(yield* audit.findDiscrepancies, found)
          yield* mend
          assert.deepStrictEqual(yield* audit.findDiscrepancies, [])
          return found.map(({ derived, stored, what }) => [what, stored - derived])
        })
      assert.deepStrictEqual(
        yield* spoilt(
          sql`update users set credit_units = credit_units + 1 where id = ${user.id}`,
          sql`update users set credit_units = credit_units - 1 where id = ${user.id}`
        ),
        [["credits", 1]]
      )
      assert.deepStrictEqual(
        yield* spoilt(
          sql`update unit_days set used = used - 2 where user_id = ${user.id}`,
          sql`update unit_days set used = used + 2 where user_id = ${user.id}`
        ),
        [["day", -2]]
      )
      assert.deepStrictEqual(
        yield* spoilt(
          sql`update agent_unit_days set units = units + 4 where user_id = ${user.id}`,
          sql`update agent_unit_days set units = units - 4 where user_id = ${user.id}`
        ),
        [["agent", 4]]
      )
      assert.deepStrictEqual(
        yield* spoilt(
          sql`update ledger_entries set units = units + 3 where user_id = ${user.id} and account = 'purchases'`,
          sql`update ledger_entries set units = units - 3 where user_id = ${user.id} and account = 'purchases'`
        ),
        [["transaction", 3]]
      )
      assert.deepStrictEqual(
        yield* spoilt(
          sql`update reservations set user_id = user_id, state = 'released' where user_id = ${user.id} and state = 'reserved'`,
          sql`update reservations set state = 'reserved' where user_id = ${user.id} and cause = 'held'`
        ),
        [["credits", -30]]
      )
    })
  )

  it.effect("LedgerAudit continues from the checkpoint of closed days, whose reservations can then be deleted", () =>
    Effect.gen(function* () {
      const audit = yield* LedgerAudit
      const sql = yield* SqlClient
      const { prune } = yield* ReservationRepository
      const { user } = yield* customer
      const age = (days: number) => sql`
        with aged as (
          update reservations set day = day - ${days}::int, created_at = created_at - make_interval(days => ${days})
          where user_id = ${user.id}
        ), used as (update unit_days set day = day - ${days}::int where user_id = ${user.id})
        update ledger_entries set created_at = created_at - make_interval(days => ${days}) where user_id = ${user.id}`
      yield* age(10)
      assert.deepStrictEqual(yield* audit.findDiscrepancies, [])
      const [checkpoint] = yield* sql`
        select credit_units::int as units from ledger_checkpoints where user_id = ${user.id}`
      assert.deepStrictEqual(checkpoint, { units: 485 })
      assert.deepStrictEqual(yield* audit.findDiscrepancies, [])
      // Closed entries are not read again: deleting them has no effect.
      yield* sql`delete from ledger_entries where user_id = ${user.id}`
      assert.deepStrictEqual(yield* audit.findDiscrepancies, [])
      const now = yield* DateTime.now
      yield* prune(DateTime.subtract(now, { days: 11 }))
      const states = sql`select state from reservations where user_id = ${user.id} order by state`
      assert.deepStrictEqual(yield* states, [{ state: "reserved" }, { state: "settled" }])
      yield* prune(DateTime.subtract(now, { days: 5 }))
      assert.deepStrictEqual(yield* states, [{ state: "reserved" }])
      assert.deepStrictEqual(yield* audit.findDiscrepancies, [])
    })
  )
})
