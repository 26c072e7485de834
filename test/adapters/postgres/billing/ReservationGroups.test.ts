import { Budgets } from "@berth/domain/billing/budgets/Budget"
import { LedgerAudit } from "@berth/domain/billing/units/LedgerAudit"
import { ReservationId } from "@berth/domain/billing/units/Reservation"
import { UnitLedger } from "@berth/domain/billing/units/UnitLedger"
import { Units } from "@berth/domain/shared/Money"
import type { User } from "@berth/domain/shared/User"
import { makeReserveGroup } from "@berth/infra/postgres/billing/ReserveGroup"
import { makeSettleGroup } from "@berth/infra/postgres/billing/SettleGroup"
import { makeDirectly } from "@berth/infra/postgres/DirectQueries"
import { SqlClient } from "@effect/sql/SqlClient"
import { assert, layer } from "@effect/vitest"
import { DateTime, Effect, Option } from "effect"
import { BillingServices, readBalance } from "../../../support/billing/BillingServices.ts"
import { insertUser } from "../../../support/Samples.ts"

const dailyUnits = Units(50)
/** Text with a meaning in arrays of PostgreSQL. */
const oddCause = `NULL {"\\",}`

/** A reservation, with its cause as id. */
const reservation = (user: User, units: number, cause: string) =>
  Effect.map(DateTime.now, (at) => ({
    id: ReservationId.make(`${user.id} ${cause}`),
    at,
    user,
    agentId: null,
    units: Units(units),
    cause,
    dailyUnitsOf: () => dailyUnits
  }))

let entries = 0

const settlement = (id: ReservationId, units: number, state: "settled" | "released" = "settled") =>
  Effect.map(DateTime.now, (at) => ({
    id: `${id} settled ${entries++}`,
    reservationId: id,
    state,
    units,
    model: null,
    usageEntry: `${id} used ${entries}`,
    at
  }))

/** Users with a row of the day. */
const insertUsers = (count: number) =>
  Effect.gen(function* () {
    const { reserve, release } = yield* UnitLedger
    const users = yield* Effect.replicateEffect(insertUser(), count)
    yield* Effect.forEach(users, (user) =>
      Effect.flatMap(reserve(user, Units(1), "first"), (id) => release(Option.getOrThrow(id)))
    )
    return users
  })

layer(BillingServices, { excludeTestServices: true })("Groups of reservations", (it) => {
  it.effect("A group reserves what fits the day of each user, and no request that its transaction must decide", () =>
    Effect.gen(function* () {
      const reserveGroup = makeReserveGroup(yield* SqlClient, yield* makeDirectly, "holder")
      const [user, poor, budgeted, upgraded] = yield* insertUsers(4)
      const unknown = yield* insertUser()
      if (user === undefined || poor === undefined || budgeted === undefined || upgraded === undefined)
        return assert.fail("four are inserted")
      yield* (yield* Budgets).replace(budgeted.id, [{ agentId: null, period: "day", units: Units(40) }])
      yield* reserveGroup([yield* reservation(user, 5, "again")])
      const requests = yield* Effect.all([
        reservation(user, 20, "one"),
        reservation(user, 25, oddCause),
        reservation(user, 25, oddCause),
        reservation(user, 1, "again"),
        reservation(poor, 30, "one"),
        reservation(poor, 21, "two"),
        reservation(budgeted, 1, "one"),
        reservation({ ...upgraded, plan: "pro" }, 1, "one"),
        reservation(unknown, 1, "without a row of the day")
      ])
      const outcomes = yield* reserveGroup(requests)
      assert.deepStrictEqual(
        new Map(outcomes),
        new Map([
          [ReservationId.make(`${user.id} one`), true],
          [ReservationId.make(`${user.id} ${oddCause}`), true],
          [ReservationId.make(`${user.id} again`), false],
          [ReservationId.make(`${poor.id} one`), false],
          [ReservationId.make(`${poor.id} two`), false],
          [ReservationId.make(`${budgeted.id} one`), false],
          [ReservationId.make(`${upgraded.id} one`), false]
        ])
      )
      assert.strictEqual((yield* readBalance(user)).used, 50)
      for (const other of [poor, budgeted, upgraded]) assert.strictEqual((yield* readBalance(other)).used, 0)
      assert.deepStrictEqual(yield* (yield* LedgerAudit).findDiscrepancies, [])
    })
  )

  it.effect("A group closes each open reservation of daily units once, and no other", () =>
    Effect.gen(function* () {
      const [sql, directly] = [yield* SqlClient, yield* makeDirectly]
      const reserveGroup = makeReserveGroup(sql, directly, "holder")
      const settleGroup = makeSettleGroup(sql, directly)
      const { reserve } = yield* UnitLedger
      const [user, other] = yield* insertUsers(2)
      if (user === undefined || other === undefined) return assert.fail("two are inserted")
      yield* sql`update users set credit_units = 100 where id = ${other.id}`
      const requests = yield* Effect.all([
        reservation(user, 20, "one"),
        reservation(user, 10, "two"),
        reservation(user, 5, "closed"),
        reservation(user, 7, "released"),
        reservation(other, 30, "all")
      ])
      yield* reserveGroup(requests)
      const [one, two, closed, released, all] = requests.map(({ id }) => id)
      if (one === undefined || two === undefined || closed === undefined || released === undefined || all === undefined)
        return assert.fail("five are requested")
      const credited = Option.getOrThrow(yield* reserve(other, Units(60), "with credits"))
      yield* settleGroup([yield* settlement(closed, 5)])
      const closings = yield* Effect.all([
        settlement(one, 4),
        settlement(one, 4),
        settlement(two, 10),
        settlement(closed, 1),
        settlement(released, 0, "released"),
        settlement(all, 90),
        settlement(credited, 1),
        settlement(ReservationId.make("rsv_none"), 1)
      ])
      const outcomes = new Map(yield* settleGroup(closings))
      assert.deepStrictEqual(
        closings.map(({ id }) => {
          const outcome = outcomes.get(id)
          return outcome === undefined ? "missing" : `${outcome.isOpen ? "open" : "closed"} ${outcome.units}`
        }),
        ["missing", "open 4", "open 10", "closed null", "open 0", "open 30", "open null", "missing"]
      )
      assert.deepStrictEqual(
        new Set(Array.from(outcomes.values(), ({ userId }) => userId)),
        new Set([user.id, other.id])
      )
      assert.strictEqual((yield* readBalance(user)).used, 19)
      assert.strictEqual((yield* readBalance(other)).used, 50)
    })
  )
})
