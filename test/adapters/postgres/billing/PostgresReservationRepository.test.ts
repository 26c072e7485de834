import { CreditGrants } from "@berth/domain/accounts/referrals/CreditGrants"
import * as PostgresCreditGrants from "@berth/infra/postgres/billing/PostgresCreditGrants"
import { Administrators } from "@berth/domain/accounts/Administrators"
import { type User } from "@berth/domain/shared/User"
import { UserRepository } from "@berth/domain/accounts/UserRepository"
import { UnitLedger, UnitPolicy } from "@berth/domain/billing/units/UnitLedger"
import { ReservationId, UnitsExhausted } from "@berth/domain/billing/units/Reservation"
import { SubscriptionRepository } from "@berth/domain/billing/subscriptions/SubscriptionRepository"
import { Transaction } from "@berth/domain/persistence/Transaction"
import { LedgerAudit } from "@berth/domain/billing/units/LedgerAudit"
import * as PostgresLedgerAudit from "@berth/infra/postgres/billing/PostgresLedgerAudit"
import { ReservationRepository } from "@berth/domain/billing/units/ReservationRepository"
import * as PostgresDomainEvents from "@berth/infra/postgres/events/PostgresDomainEvents"
import * as PostgresReservationRepository from "@berth/infra/postgres/billing/PostgresReservationRepository"
import * as PostgresTransaction from "@berth/infra/postgres/persistence/PostgresTransaction"
import * as PostgresSubscriptionRepository from "@berth/infra/postgres/billing/PostgresSubscriptionRepository"
import * as PostgresUserRepository from "@berth/infra/postgres/accounts/PostgresUserRepository"
import { renderPrometheus } from "@berth/infra/telemetry/PrometheusFormat"
import { SpanExportEnabled } from "@berth/domain/shared/SpanExport"
import { SqlClient } from "@effect/sql/SqlClient"
import { assert, layer } from "@effect/vitest"
import {
  Context,
  DateTime,
  Effect,
  Either,
  FastCheck,
  Fiber,
  Layer,
  Option,
  Ref,
  Schema,
  TestClock,
  TestContext
} from "effect"
import { eventually } from "../../../support/Eventually.ts"
import * as MigratedDatabase from "../../../support/MigratedDatabase.ts"
import { insertUser } from "../../../support/Samples.ts"
import { bySlowClock } from "../../../support/SlowClock.ts"
import { sql } from "../../../support/Sql.ts"
import * as TestSecrets from "../../../support/TestSecrets.ts"
import { Units, Credits } from "@berth/domain/shared/Money"

const admins = Layer.succeed(Administrators, { includes: (user) => user.name === "admin" })
const makeUnitLedger = (confirmedEmailRequired: boolean, repository = PostgresReservationRepository.layer) =>
  UnitLedger.Default.pipe(
    Layer.provideMerge(repository),
    Layer.provide(PostgresDomainEvents.layer),
    Layer.provide(Layer.succeed(UnitPolicy, { confirmedEmailRequired }))
  )
const unitLedger = makeUnitLedger(false)
const Live = Layer.mergeAll(
  unitLedger,
  PostgresUserRepository.layer,
  PostgresCreditGrants.layer,
  PostgresLedgerAudit.layer,
  PostgresSubscriptionRepository.layer,
  PostgresTransaction.layer,
  // Requests of an exported trace share no statement.
  Layer.succeed(SpanExportEnabled, false)
).pipe(Layer.provideMerge(Layer.mergeAll(MigratedDatabase.layer, TestSecrets.layer, admins)))

/** Daily units of the free plan. */
const freeUnits = 50

const userWithCredits = (credits: number) =>
  Effect.gen(function* () {
    const { grant } = yield* CreditGrants
    const user = yield* insertUser()
    yield* grant(user.id, Credits(credits))
    return user
  })

const balanceOf = (user: User) =>
  Effect.gen(function* () {
    const { findUsage } = yield* UnitLedger
    const users = yield* UserRepository
    const { remaining, used } = yield* findUsage(user)
    assert.strictEqual(used + remaining, freeUnits)
    return { used, credits: Option.getOrThrow(yield* users.find(user.id)).credits }
  })

const reserved = (user: User, units: number, cause: string) =>
  Effect.flatMap(UnitLedger, ({ reserve }) => Effect.map(reserve(user, Units(units), cause), Option.getOrThrow))

const LedgerRow = Schema.Struct({ account: Schema.String, units: Schema.Int })
/** The user's ledger by account. Every transaction sums to zero. */
const ledgerOf = (user: User) =>
  Effect.gen(function* () {
    const unbalanced = yield* sql`
      select transaction_id from ledger_entries where user_id = ${user.id}
      group by 1 having sum(units) <> 0`
    assert.deepStrictEqual(unbalanced, [])
    const rows = yield* sql`
      select account, sum(units)::int as units from ledger_entries where user_id = ${user.id} group by 1`
    const decoded = yield* Schema.decodeUnknown(Schema.Array(LedgerRow))(rows)
    const sums: Record<string, number> = { allowance: 0, credits: 0, usage: 0, grants: 0 }
    for (const { account, units } of decoded) sums[account] = units
    return sums
  })

layer(Live, { excludeTestServices: true })("UnitLedger", (it) => {
  it.effect("UnitLedger reserves daily units first, then credits, then fails and changes nothing", () =>
    Effect.gen(function* () {
      const { reserve } = yield* UnitLedger
      const user = yield* userWithCredits(0.3)
      yield* reserved(user, 45, "a")
      assert.deepStrictEqual(yield* balanceOf(user), { used: 45, credits: 0.3 })
      yield* reserved(user, 15, "b")
      assert.deepStrictEqual(yield* balanceOf(user), { used: 50, credits: 0.2 })
      const refused = yield* Effect.flip(reserve(user, Units(21), "c"))
      assert.instanceOf(refused, UnitsExhausted)
      assert.deepInclude(refused, { units: Units(21), remaining: Units(20) })
      assert.deepStrictEqual(yield* balanceOf(user), { used: 50, credits: 0.2 })
      yield* reserved(user, 20, "c")
      assert.deepStrictEqual(yield* balanceOf(user), { used: 50, credits: 0 })
    })
  )

  it.effect("UnitLedger settles at most the reservation, returns the rest to its source, and books both sides", () =>
    Effect.gen(function* () {
      const { settle } = yield* UnitLedger
      const user = yield* userWithCredits(1)
      const split = yield* reserved(user, 80, "split")
      assert.deepStrictEqual(yield* balanceOf(user), { used: 50, credits: 0.7 })
      assert.deepInclude(yield* ledgerOf(user), { allowance: 0, credits: 100, usage: 0 })
      yield* settle(split, Units(60))
      assert.deepStrictEqual(yield* balanceOf(user), { used: 50, credits: 0.9 })
      assert.deepInclude(yield* ledgerOf(user), { allowance: -50, credits: 90, usage: 60 })

      const other = yield* userWithCredits(1)
      yield* settle(yield* reserved(other, 80, "few"), Units(20))
      assert.deepStrictEqual(yield* balanceOf(other), { used: 20, credits: 1 })
      yield* settle(yield* reserved(other, 10, "over"), Units(1000))
      assert.deepStrictEqual(yield* balanceOf(other), { used: 30, credits: 1 })
      assert.deepInclude(yield* ledgerOf(other), { allowance: -30, credits: 100, usage: 30 })
    })
  )

  it.effect("Metrics count the units of a settlement once, and none of a release", () =>
    Effect.gen(function* () {
      const { release, settle } = yield* UnitLedger
      const counted = Effect.sync(() => Number(/^berth_units_charged_total (\d+)$/m.exec(renderPrometheus())?.[1] ?? 0))
      const before = yield* counted
      const user = yield* insertUser()
      const part = yield* reserved(user, 30, "part")
      yield* settle(part, Units(20))
      yield* settle(part, Units(20))
      yield* settle(yield* reserved(user, 7, "whole"), Units(7))
      yield* release(yield* reserved(user, 5, "released"))
      assert.strictEqual((yield* counted) - before, 27)
    })
  )

  it.effect("UnitLedger closes a reservation once under concurrent settlements and releases", () =>
    Effect.gen(function* () {
      const { release, settle } = yield* UnitLedger
      const user = yield* userWithCredits(1)
      const id = yield* reserved(user, 70, "raced")
      yield* Effect.forEach(
        Array.from({ length: 30 }, (_, n) => n),
        (n) => (n % 2 === 0 ? settle(id, Units(60)) : release(id)),
        { concurrency: "unbounded" }
      )
      const after = yield* balanceOf(user)
      const ledger = yield* ledgerOf(user)
      if (ledger["usage"] === 0) assert.deepStrictEqual(after, { used: 0, credits: 1 })
      else {
        assert.deepStrictEqual(after, { used: 50, credits: 0.9 })
        assert.strictEqual(ledger["usage"], 60)
      }
      yield* Effect.all([settle(id, Units(1)), release(id), settle(ReservationId.make("rsv_none\u0000"), Units(1))])
      assert.deepStrictEqual(yield* balanceOf(user), after)
    })
  )

  it.effect(
    "UnitLedger.release and UnitLedger.settle do not deadlock with a call that reserves their cause again",
    () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient
        const { release, settle } = yield* UnitLedger
        const user = yield* insertUser()
        const awaitLocks = (...expected: ReadonlyArray<string>) =>
          sql`
          select locktype as lock from pg_locks join pg_stat_activity using (pid)
          where not granted and datname = current_database() order by lock`.pipe(
            Effect.repeat({ until: (rows) => rows.map((row) => row["lock"]).join() === expected.join() })
          )
        const lock = (name: string) => sql`select pg_advisory_xact_lock(hashtextextended(${name}, 0))`
        // Delays an insertion between the lock of the day and the check of the cause.
        yield* sql`
        create function await_gate() returns trigger language plpgsql as
        $$ begin perform pg_advisory_xact_lock_shared(hashtextextended('gate', 0)); return new; end $$`
        yield* sql`create trigger gate before insert on reservations for each row execute function await_gate()`
        const closings = [release, (id: ReservationId) => settle(id, Units(2))]
        for (const [n, close] of closings.entries()) {
          const cause = `call ${n}`
          const id = yield* reserved(user, 10, `former ${cause}`)
          const [isRenamed, isOpen] = [yield* Effect.makeLatch(), yield* Effect.makeLatch()]
          const [holdsCause, holdsGate] = [yield* Effect.makeLatch(), yield* Effect.makeLatch()]
          const rename = lock(`reserve ${user.id} ${cause}`).pipe(
            Effect.zipRight(holdsCause.open),
            Effect.zipRight(isRenamed.await),
            Effect.zipRight(sql`update reservations set cause = ${cause} where id = ${id}`),
            sql.withTransaction
          )
          const gate = lock("gate").pipe(
            Effect.zipRight(holdsGate.open),
            Effect.zipRight(isOpen.await),
            sql.withTransaction
          )
          const [renaming, gating] = [yield* Effect.fork(rename), yield* Effect.fork(gate)]
          yield* Effect.zipRight(holdsCause.await, holdsGate.await)
          // Its snapshot is older than the reservation of its cause.
          const again = yield* Effect.fork(reserved(user, 10, cause))
          yield* awaitLocks("advisory")
          yield* Effect.zipRight(isRenamed.open, Fiber.join(renaming))
          yield* sql`select from unit_days where user_id = ${user.id} for no key update skip locked`.pipe(
            Effect.repeat({ until: (rows) => rows.length === 0 })
          )
          const closing = yield* Effect.fork(close(id))
          yield* awaitLocks("advisory", "transactionid")
          yield* Effect.zipRight(isOpen.open, Fiber.join(gating))
          yield* Effect.zipRight(Fiber.join(closing), Fiber.join(again))
        }
      }).pipe(Effect.ensuring(Effect.orDie(sql`drop function if exists await_gate cascade`)))
  )

  it.effect("UnitLedger deadlocks in no order of concurrent calls of one owner", () =>
    Effect.gen(function* () {
      const { extend, release, settle } = yield* UnitLedger
      const audit = yield* LedgerAudit
      const user = yield* userWithCredits(100)
      const calls = Array.from({ length: 24 }, (_, n) => n)
      yield* Effect.forEach(
        calls,
        (n) =>
          Effect.gen(function* () {
            const id = yield* reserved(user, 10 + (n % 7), `call ${n % 8}`)
            const closings = [extend(id, Units(30)), settle(id, Units(n % 20)), extend(id, Units(60)), release(id)]
            yield* Effect.all([...closings.slice(n % 4), ...closings.slice(0, n % 4)], { concurrency: 2 })
          }),
        { concurrency: "unbounded" }
      ).pipe(Effect.replicateEffect(3))
      assert.deepStrictEqual(yield* audit.findDiscrepancies, [])
    })
  )

  it.effect("UnitLedger closes a reservation on the changes of a transaction that it waited for", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const { extend, release, settle } = yield* UnitLedger
      const closings = [
        { close: release, booked: 0 },
        { close: (id: ReservationId) => settle(id, Units(110)), booked: 110 },
        { close: (id: ReservationId) => settle(id, Units(130)), booked: 130 }
      ]
      for (const { booked, close } of closings) {
        const user = yield* userWithCredits(1)
        const id = yield* reserved(user, 10, "message")
        const [isExtended, isAwaited] = [yield* Effect.makeLatch(), yield* Effect.makeLatch()]
        const extending = extend(id, Units(130)).pipe(
          Effect.zipRight(isExtended.open),
          Effect.zipRight(isAwaited.await),
          sql.withTransaction
        )
        const transaction = yield* Effect.fork(extending)
        yield* isExtended.await
        const closing = yield* Effect.fork(close(id))
        yield* eventually(
          sql`select from pg_locks join pg_stat_activity using (pid) where not granted and datname = current_database()`,
          (waiting) => waiting.length === 1
        )
        yield* isAwaited.open
        yield* Effect.zipRight(Fiber.join(transaction), Fiber.join(closing))
        const [row] = yield* sql`
          select settled_daily_units + settled_credit_units as booked, daily_units + credit_units as held
          from reservations where id = ${id}`
        assert.deepStrictEqual(row, { booked: String(booked), held: "130" })
      }
      assert.deepStrictEqual(yield* (yield* LedgerAudit).findDiscrepancies, [])
    })
  )

  it.effect("UnitLedger deadlocks with no call when a transaction settles several reservations", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const { settle } = yield* UnitLedger
      const user = yield* userWithCredits(100)
      const ofDay = yield* reserved(user, 20, "paid by the day")
      yield* reserved(user, 30, "the rest of the day")
      const ofCredits = yield* reserved(user, 20, "paid by credits")
      const [isSettled, isAwaited] = [yield* Effect.makeLatch(), yield* Effect.makeLatch()]
      const settling = settle(ofCredits, Units(5)).pipe(
        Effect.zipRight(isSettled.open),
        Effect.zipRight(isAwaited.await),
        Effect.zipRight(settle(ofDay, Units(5))),
        sql.withTransaction
      )
      const transaction = yield* Effect.fork(settling)
      yield* isSettled.await
      const caller = yield* Effect.fork(reserved(user, 10, "meanwhile"))
      yield* eventually(
        sql`select from pg_locks join pg_stat_activity using (pid) where not granted and datname = current_database()`,
        (waiting) => waiting.length === 1
      )
      yield* isAwaited.open
      yield* Effect.zipRight(Fiber.join(transaction), Fiber.join(caller))
      assert.deepStrictEqual(yield* (yield* LedgerAudit).findDiscrepancies, [])
    })
  )

  it.effect(
    "UnitLedger reserves and settles for other users while the rows of one are locked, which holds four connections",
    () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient
        const { reserve, settle } = yield* UnitLedger
        const users = yield* Effect.replicateEffect(insertUser(), 4)
        const [locked, ...others] = users
        if (locked === undefined) return assert.fail("four are inserted")
        const callAll = (n: number) =>
          Effect.forEach(users, (user) => Effect.map(reserve(user, Units(10), `call ${n}`), Option.getOrThrow), {
            concurrency: "unbounded"
          })
        const ids = yield* callAll(0)
        const tables = [
          sql`select from users where id = ${locked.id} for update`,
          sql`select from unit_days where user_id = ${locked.id} for update`,
          sql`select from reservations where user_id = ${locked.id} for update`
        ]
        for (const [n, lock] of tables.entries()) {
          const isLocked = yield* Effect.makeLatch()
          const isFinished = yield* Effect.makeLatch()
          const holding = yield* lock.pipe(
            Effect.zipRight(isLocked.open),
            Effect.zipRight(isFinished.await),
            sql.withTransaction,
            Effect.fork
          )
          yield* isLocked.await
          const waiting = yield* Effect.fork(
            Effect.all(
              [
                settle(ids[0] ?? ReservationId.make(""), Units(3)),
                ...Array.from({ length: 9 }, (_, call) =>
                  Effect.asVoid(reserve(locked, Units(1), `waits ${n} ${call}`))
                )
              ],
              { concurrency: "unbounded" }
            )
          )
          const ofOthers = ids
            .slice(1)
            .flatMap((id, index) => [
              settle(id, Units(4)),
              Effect.asVoid(reserve(others[index] ?? locked, Units(1), `other ${n}`))
            ])
          yield* Effect.all(ofOthers, { concurrency: "unbounded" })
          const held = yield* eventually(
            sql`select from pg_locks join pg_stat_activity using (pid) where not granted and datname = current_database()`,
            (connections) => connections.length > 0
          )
          assert.isAtMost(held.length, 4)
          yield* isFinished.open
          yield* Effect.zipRight(Fiber.join(holding), Fiber.join(waiting))
          for (const [index, id] of (yield* callAll(n + 1)).entries()) ids[index] = id
        }
        const used = yield* Effect.forEach(users, (user) => Effect.map(balanceOf(user), (balance) => balance.used))
        assert.deepStrictEqual(used, [3 * 3 + 27 + 10, 3 * 4 + 3 + 10, 3 * 4 + 3 + 10, 3 * 4 + 3 + 10])
        assert.deepStrictEqual(yield* (yield* LedgerAudit).findDiscrepancies, [])
      })
  )

  it.effect("UnitLedger reserves once for a cause, concurrently too, and anew only after a release", () =>
    Effect.gen(function* () {
      const { release, settle } = yield* UnitLedger
      const [user, other] = yield* Effect.all([insertUser(), insertUser()])
      const ids = yield* Effect.replicateEffect(reserved(user, 5, "message"), 20, { concurrency: "unbounded" })
      const [id] = ids
      assert.strictEqual(new Set(ids).size, 1)
      assert.deepInclude(yield* balanceOf(user), { used: Units(5) })
      assert.notStrictEqual(yield* reserved(other, 5, "message"), id)
      if (id === undefined) return assert.fail("twenty were made")

      yield* release(id)
      const again = yield* reserved(user, 3, "message")
      assert.notStrictEqual(again, id)
      yield* release(id)
      assert.deepInclude(yield* balanceOf(user), { used: Units(3) })
      yield* settle(again, Units(3))
      assert.strictEqual(yield* reserved(user, 3, "message"), again)
      assert.deepInclude(yield* balanceOf(user), { used: Units(3) })
    })
  )

  it.effect("UnitLedger admits exactly a hundred of five hundred concurrent reservations of a hundred units", () =>
    Effect.gen(function* () {
      const { reserve } = yield* UnitLedger
      const user = yield* userWithCredits(0.5)
      const outcomes = yield* Effect.forEach(
        Array.from({ length: 500 }, (_, n) => `race ${n}`),
        (cause) => Effect.either(reserve(user, Units(1), cause)),
        { concurrency: "unbounded" }
      )
      assert.strictEqual(outcomes.filter(Either.isRight).length, 100)
      assert.deepStrictEqual(yield* balanceOf(user), { used: 50, credits: 0 })
    })
  )

  it.effect("UnitLedger rejects no concurrent reservation that fits the budget", () =>
    Effect.gen(function* () {
      const user = yield* userWithCredits(1.6)
      const sizes = Array.from({ length: 20 }, (_, n) => n + 1)
      yield* Effect.forEach(sizes, (units) => reserved(user, units, `size ${units}`), { concurrency: "unbounded" })
      assert.deepStrictEqual(yield* balanceOf(user), { used: 50, credits: 0 })
    })
  )

  it.effect("UnitLedger.extend raises an open reservation as far as the balance reaches, and a closed one never", () =>
    Effect.gen(function* () {
      const { extend, release, settle } = yield* UnitLedger
      const user = yield* userWithCredits(0.3)
      const id = yield* reserved(user, 1, "turn")
      assert.strictEqual(yield* extend(id, Units(40)), 40)
      assert.strictEqual(yield* extend(id, Units(40)), 40)
      assert.strictEqual(yield* extend(id, Units(7)), 40)
      assert.deepStrictEqual(yield* balanceOf(user), { used: 40, credits: 0.3 })
      assert.strictEqual(yield* extend(id, Units(60)), 60)
      assert.deepStrictEqual(yield* balanceOf(user), { used: 50, credits: 0.2 })
      assert.strictEqual(yield* extend(id, Units(1_000)), 80)
      assert.deepStrictEqual(yield* balanceOf(user), { used: 50, credits: 0 })
      yield* settle(id, Units(55))
      assert.deepStrictEqual(yield* balanceOf(user), { used: 50, credits: 0.25 })
      assert.strictEqual(yield* extend(id, Units(80)), 0)
      assert.strictEqual(yield* extend(ReservationId.make("rsv_none\u0000"), Units(1)), 0)
      assert.deepStrictEqual(yield* balanceOf(user), { used: 50, credits: 0.25 })

      const other = yield* userWithCredits(1)
      const released = yield* reserved(other, 50, "released")
      assert.strictEqual(yield* extend(released, Units(90)), 90)
      yield* release(released)
      assert.deepStrictEqual(yield* balanceOf(other), { used: 0, credits: 1 })
    })
  )

  it.effect("UnitLedger.extend overspends nothing when fifty calls extend their reservations at the same time", () =>
    Effect.gen(function* () {
      const { extend, settle } = yield* UnitLedger
      const user = yield* userWithCredits(1)
      const ids = yield* Effect.forEach(
        Array.from({ length: 50 }, (_, n) => `turn ${n}`),
        (cause) => reserved(user, 1, cause)
      )
      const extended = yield* Effect.forEach(
        ids,
        (id) => Effect.all([extend(id, Units(4)), extend(id, Units(4))], { concurrency: 2 }),
        { concurrency: "unbounded" }
      )
      const held = extended.reduce((sum, [one, other]) => sum + Math.max(one, other), 0)
      assert.strictEqual(held, 150)
      assert.deepStrictEqual(yield* balanceOf(user), { used: 50, credits: 0 })
      yield* Effect.forEach(ids, (id) => settle(id, Units(1)), { concurrency: "unbounded" })
      assert.deepStrictEqual((yield* balanceOf(user)).credits, 1)
    })
  )

  const call = FastCheck.record({
    units: FastCheck.integer({ min: 0, max: 40 }),
    used: FastCheck.integer({ min: 0, max: 50 }),
    delivered: FastCheck.array(FastCheck.integer({ min: 0, max: 60 }), { maxLength: 3 }),
    end: FastCheck.constantFrom("settle", "release", "both", "leave")
  })

  it.effect.prop(
    "UnitLedger keeps every balance exact under any interleaving of reserve, settle, release and records of deliveries",
    [FastCheck.array(FastCheck.array(call, { minLength: 1, maxLength: 8 }), { minLength: 2, maxLength: 8 })],
    ([fibers]) =>
      Effect.gen(function* () {
        const { release, reserve, settle } = yield* UnitLedger
        const { recordDeliveries } = yield* ReservationRepository
        const user = yield* userWithCredits(0.6)
        let settled = 0
        let delivered = 0
        const done = yield* Effect.forEach(
          fibers,
          (calls, fiber) =>
            Effect.forEach(calls, ({ delivered: parts, end, units, used }, index) =>
              Effect.gen(function* () {
                const reservation = yield* Effect.either(reserve(user, Units(units), `${fiber}/${index}`))
                if (Either.isLeft(reservation)) return 0
                const id = Option.getOrThrow(reservation.right)
                const recordAll = Effect.forEach(parts, (part) => recordDeliveries([{ id, units: Units(part) }]))
                yield* recordAll
                const { used: held } = yield* balanceOf(user)
                assert.isAtMost(held, freeUnits)
                if (end === "settle" || end === "both") yield* settle(id, Units(used))
                if (end === "release" || end === "both") yield* Effect.zipRight(release(id), settle(id, Units(50)))
                yield* recordAll
                if (end === "leave") delivered += Math.min(units, Math.max(0, ...parts))
                else if (end !== "release") settled += Math.min(units, used)
                return end === "release" ? 0 : end === "leave" ? units : Math.min(units, used)
              })
            ),
          { concurrency: "unbounded" }
        )
        const spent = done.flat().reduce((sum, units) => sum + units, 0)
        const { credits, used } = yield* balanceOf(user)
        assert.strictEqual(Math.round(used + 60 - credits * 100), spent)

        // After all reservations are closed, the deliveries of disconnected callers are paid, and the ledger agrees
        // with the balances.
        const later = DateTime.add(yield* DateTime.now, { hours: 1 })
        yield* (yield* UnitLedger).closeAbandoned(later)
        const after = yield* balanceOf(user)
        const ledger = yield* ledgerOf(user)
        assert.strictEqual(ledger["usage"], settled + delivered)
        assert.strictEqual(ledger["allowance"], 0 - after.used)
        assert.strictEqual(ledger["credits"], Math.round(after.credits * 100))
      }),
    { fastCheck: { numRuns: 25 } }
  )

  it.effect("UnitLedger reserves nothing for administrators", () =>
    Effect.gen(function* () {
      const { reserve } = yield* UnitLedger
      const admin = yield* insertUser("admin")
      assert.deepStrictEqual(yield* reserve(admin, Units(1_000_000), "a"), Option.none())
      assert.deepInclude(yield* balanceOf(admin), { used: Units(0) })
    })
  )

  it.effect("UnitLedger uses the current plan", () =>
    Effect.gen(function* () {
      const { reserve, findUsage } = yield* UnitLedger
      const subscriptions = yield* SubscriptionRepository
      const user = yield* insertUser()
      yield* subscriptions.save({ userId: user.id, plan: "pro", status: "active" })
      yield* reserved(user, 900, "a")
      assert.deepStrictEqual(yield* findUsage({ ...user, plan: "pro" }), {
        dailyUnits: 1000,
        used: 900,
        remaining: 100
      })
      yield* subscriptions.save({ userId: user.id, plan: "pro", status: "past_due" })
      assert.deepInclude(yield* Effect.flip(reserve(user, Units(1), "b")), { remaining: Units(0) })
      assert.deepStrictEqual(yield* findUsage(user), { dailyUnits: 50, used: 50, remaining: 0 })
    })
  )

  it.effect(
    "UnitLedger keeps no reservation of a failed transaction, and leaves the transaction usable after a rejection",
    () =>
      Effect.gen(function* () {
        const { reserve } = yield* UnitLedger
        const { run } = yield* Transaction
        const user = yield* insertUser()
        yield* run(Effect.zipRight(reserve(user, Units(10), "a"), Effect.fail("later"))).pipe(Effect.flip)
        assert.deepInclude(yield* balanceOf(user), { used: Units(0) })
        yield* run(Effect.zipRight(Effect.flip(reserve(user, Units(51), "b")), reserve(user, Units(50), "b")))
        assert.deepInclude(yield* balanceOf(user), { used: Units(50) })
      })
  )

  it.effect("UnitLedger counts by UTC day, and returns units to their day", () =>
    Effect.gen(function* () {
      const { release, findUsage } = yield* UnitLedger
      yield* TestClock.setTime(Date.UTC(2026, 2, 1, 23, 59, 59, 999))
      const user = yield* insertUser()
      const first = yield* reserved(user, 50, "evening")
      yield* TestClock.adjust("1 millis")
      assert.deepInclude(yield* findUsage(user), { used: Units(0) })
      yield* reserved(user, 50, "morning")
      yield* release(first)
      assert.deepInclude(yield* findUsage(user), { used: Units(50) })
      yield* TestClock.setTime(Date.UTC(2026, 2, 1, 12))
      assert.deepInclude(yield* findUsage(user), { used: Units(0) })
    }).pipe(Effect.provide(TestContext.TestContext))
  )

  it.effect("UnitLedger spends no credit twice around midnight", () =>
    Effect.gen(function* () {
      const { reserve } = yield* UnitLedger
      const users = yield* UserRepository
      const user = yield* userWithCredits(0.5)
      const days = [Date.UTC(2026, 2, 1), Date.UTC(2026, 2, 2)]
      const on = <A, E, R>(day: number, effect: Effect.Effect<A, E, R>) =>
        Effect.zipRight(TestClock.setTime(day), effect).pipe(Effect.provide(TestContext.TestContext))
      yield* Effect.forEach(days, (day) => on(day, reserved(user, 50, `all of ${day}`)))
      const outcomes = yield* Effect.forEach(
        Array.from({ length: 60 }, (_, n) => ({ day: days[n % 2] ?? 0, cause: `credit ${n}` })),
        ({ cause, day }) => on(day, Effect.either(reserve(user, Units(1), cause))),
        { concurrency: "unbounded" }
      )
      assert.strictEqual(outcomes.filter(Either.isRight).length, 50)
      assert.strictEqual(Option.getOrThrow(yield* users.find(user.id)).credits, 0)
    })
  )

  it.effect("UnitLedger.closeAbandoned releases the reservations of a killed process once, within a minute", () =>
    Effect.gen(function* () {
      const { closeAbandoned } = yield* UnitLedger
      const repository = yield* ReservationRepository
      const user = yield* insertUser()
      yield* closeAbandoned(DateTime.add(yield* DateTime.now, { hours: 1 }))
      yield* repository.renewLease(DateTime.add(yield* DateTime.now, { minutes: 2 }))
      const killed = yield* Layer.build(Layer.fresh(unitLedger))
      const reserveIn = (context: Context.Context<UnitLedger>, cause: string) =>
        Effect.map(Context.get(context, UnitLedger).reserve(user, Units(1), cause), Option.getOrThrow)
      yield* Effect.forEach(
        Array.from({ length: 20 }, (_, n) => n),
        (n) => reserveIn(killed, `open ${n}`)
      )
      yield* Context.get(killed, UnitLedger).settle(yield* reserveIn(killed, "settled"), Units(1))
      yield* reserved(user, 1, "of a living process")
      const now = yield* DateTime.now
      assert.strictEqual(yield* closeAbandoned(now), 0)
      const soon = DateTime.add(now, { seconds: 55 })
      const released = yield* Effect.replicateEffect(closeAbandoned(soon), 4, { concurrency: "unbounded" })
      assert.strictEqual(
        released.reduce((sum, count) => sum + count, 0),
        20
      )
      assert.deepInclude(yield* balanceOf(user), { used: Units(2) })
    }).pipe(Effect.scoped)
  )

  it.effect("UnitLedger.closeAbandoned closes no reservation of a process whose clock is wrong", () =>
    Effect.gen(function* () {
      const { closeAbandoned } = yield* UnitLedger
      const behind = Context.get(yield* bySlowClock(Layer.build(Layer.fresh(unitLedger))), UnitLedger)
      const user = yield* insertUser()
      yield* behind.reserve(user, Units(4), "of a living process")
      yield* closeAbandoned(yield* DateTime.now)
      assert.deepInclude(yield* balanceOf(user), { used: Units(4) })
      yield* bySlowClock(Effect.flatMap(DateTime.now, (now) => closeAbandoned(DateTime.add(now, { minutes: 3 }))))
      assert.deepInclude(yield* balanceOf(user), { used: Units(0) })
    }).pipe(Effect.scoped)
  )

  it.effect(
    "UnitLedger.reserve takes over the reservation of its cause from a killed process, and not a closed one",
    () =>
      Effect.gen(function* () {
        const { closeAbandoned, reserve, settle } = yield* UnitLedger
        const repository = yield* ReservationRepository
        const user = yield* insertUser()
        yield* repository.renewLease(DateTime.add(yield* DateTime.now, { minutes: 2 }))
        const killed = Context.get(yield* Layer.build(Layer.fresh(unitLedger)), UnitLedger)
        const [open, settled] = yield* Effect.forEach(["open", "settled"], (cause) =>
          killed.reserve(user, Units(4), cause)
        )
        yield* killed.settle(Option.getOrThrow(settled ?? Option.none()), Units(3))
        const again = yield* Effect.forEach(["open", "settled"], (cause) => reserve(user, Units(4), cause))
        assert.deepStrictEqual(again, [open, settled])
        yield* closeAbandoned(DateTime.add(yield* DateTime.now, { seconds: 55 }))
        assert.deepInclude(yield* balanceOf(user), { used: Units(7) })
        for (const id of again) yield* settle(Option.getOrThrow(id), Units(2))
        assert.deepInclude(yield* balanceOf(user), { used: Units(5) })
      }).pipe(Effect.scoped)
  )

  it.effect("UnitLedger.close leaves reservations to the worker that an outage of the database keeps open", () =>
    Effect.gen(function* () {
      const { closeAbandoned } = yield* UnitLedger
      const repository = yield* ReservationRepository
      yield* repository.renewLease(DateTime.add(yield* DateTime.now, { minutes: 2 }))
      const outage = yield* Ref.make(true)
      const duringOutage = Layer.map(PostgresReservationRepository.layer, (context) => {
        const live = Context.get(context, ReservationRepository)
        const unless = <A>(call: Effect.Effect<A>) =>
          Effect.flatMap(Ref.get(outage), (isDown) => (isDown ? Effect.dieMessage("no connection") : call))
        return Context.make(ReservationRepository, {
          ...live,
          settle: (...args) => unless(live.settle(...args)),
          release: (id) => unless(live.release(id)),
          abandon: (costs) => unless(live.abandon(costs))
        })
      })
      const ledger = Context.get(yield* Layer.build(Layer.fresh(makeUnitLedger(false, duringOutage))), UnitLedger)
      const user = yield* insertUser()
      const reserveIn = (cause: string) => Effect.map(ledger.reserve(user, Units(10), cause), Option.getOrThrow)
      const streamed = yield* reserveIn("streamed")
      const undelivered = yield* reserveIn("undelivered")
      const taken = yield* reserveIn("taken over")
      const continued = yield* reserveIn("continued")
      yield* repository.recordDeliveries([{ id: undelivered, units: Units(5) }])
      yield* ledger.close(streamed, Units(3))
      for (const id of [undelivered, taken, continued]) yield* ledger.close(id, Units(0))
      assert.deepInclude(yield* balanceOf(user), { used: Units(40) })

      assert.strictEqual(yield* reserved(user, 10, "taken over"), taken)
      assert.strictEqual(yield* reserveIn("continued"), continued)
      yield* Ref.set(outage, false)
      const openHolders = sql<{ cause: string }>`
        select cause from reservations where user_id = ${user.id} and state = 'reserved' order by cause`
      yield* eventually(
        Effect.zipRight(closeAbandoned(yield* DateTime.now), openHolders),
        (open) => open.map(({ cause }) => cause).join() === "continued,taken over"
      )
      assert.deepInclude(yield* balanceOf(user), { used: Units(23) })
      assert.deepInclude(yield* ledgerOf(user), { allowance: -3, usage: 3 })
    }).pipe(Effect.scoped)
  )

  it.effect("UnitLedger.closeAbandoned settles the deliveries of a killed process on the day of the reservation", () =>
    Effect.gen(function* () {
      const { closeAbandoned } = yield* UnitLedger
      const repository = yield* ReservationRepository
      const inAnHour = Effect.map(DateTime.now, (now) => DateTime.add(now, { hours: 1 }))
      yield* closeAbandoned(yield* inAnHour)
      const user = yield* userWithCredits(1)
      const leaving = yield* insertUser()
      const killed = Context.get(yield* Layer.build(Layer.fresh(unitLedger)), UnitLedger)
      const reserveIn = (payer: User, units: number, cause: string) =>
        Effect.map(killed.reserve(payer, Units(units), cause), Option.getOrThrow)
      const streamed = yield* reserveIn(user, 60, "beyond the day's units")
      const exceeding = yield* reserveIn(user, 5, "above the reservation")
      const silent = yield* reserveIn(user, 10, "without a delivery")
      const settled = yield* reserveIn(user, 10, "settled")
      const released = yield* reserveIn(user, 10, "released")
      const lost = yield* reserveIn(leaving, 10, "of a deleted user")
      yield* killed.settle(settled, Units(2))
      yield* killed.release(released)
      yield* sql`delete from users where id = ${leaving.id}`
      const record = (units: number) =>
        repository.recordDeliveries([
          { id: streamed, units: Units(units) },
          ...[exceeding, settled, released, lost].map((id) => ({ id, units: Units(1_000) }))
        ])
      yield* Effect.all([record(55), record(40), record(55)], { concurrency: "unbounded" })
      yield* record(3)
      assert.deepStrictEqual(yield* balanceOf(user), { used: 50, credits: 0.73 })

      yield* sql`update unit_days set day = day - 1 where user_id = ${user.id}`
      yield* sql`update reservations set day = day - 1 where user_id = ${user.id}`
      const closed = yield* Effect.replicateEffect(Effect.flatMap(inAnHour, closeAbandoned), 4, {
        concurrency: "unbounded"
      })
      assert.strictEqual(
        closed.reduce((sum, count) => sum + count, 0),
        3
      )
      yield* record(60)
      assert.deepStrictEqual(yield* balanceOf(user), { used: 0, credits: 0.88 })
      assert.deepStrictEqual(yield* sql`select used::int as used from unit_days where user_id = ${user.id}`, [
        { used: 50 }
      ])
      assert.deepStrictEqual(
        yield* sql`
          select id, state, (settled_daily_units + settled_credit_units)::int as units from reservations
          where user_id = ${user.id} order by cause`,
        [
          { id: exceeding, state: "settled", units: 5 },
          { id: streamed, state: "settled", units: 55 },
          { id: released, state: "released", units: 0 },
          { id: settled, state: "settled", units: 2 },
          { id: silent, state: "released", units: 0 }
        ]
      )
      assert.deepInclude(yield* ledgerOf(user), { allowance: -50, usage: 62, credits: 88 })
    }).pipe(Effect.scoped)
  )

  it.effect(
    "UnitLedger.meter stores the cost of an open stream soon after its first delta, and none of a closed one",
    () =>
      Effect.gen(function* () {
        const ledger = Context.get(yield* Layer.build(Layer.fresh(unitLedger)), UnitLedger)
        const user = yield* insertUser()
        const id = Option.getOrThrow(yield* ledger.reserve(user, Units(20), "stream"))
        const other = Option.getOrThrow(yield* ledger.reserve(user, Units(20), "another stream"))
        const cost = yield* Ref.make(Units(0))
        const storedUnits = Effect.map(
          sql<{ units: number }>`
          select delivered_units::int as units from reservations where id in (${id}, ${other}) order by cause desc`,
          (rows) => rows.map(({ units }) => units)
        )
        const becomes = (expected: ReadonlyArray<number>) =>
          eventually(storedUnits, (stored) => stored.join() === expected.join())
        yield* Effect.scoped(
          Effect.gen(function* () {
            yield* ledger.meter(id, Ref.get(cost))
            assert.deepStrictEqual(yield* storedUnits, [0, 0])
            yield* Ref.set(cost, Units(3))
            yield* becomes([3, 0])
            yield* Ref.set(cost, Units(7))
            yield* becomes([7, 0])
          })
        )
        yield* Ref.set(cost, Units(9))
        yield* ledger.meter(other, Ref.get(cost))
        yield* becomes([7, 9])
      }).pipe(Effect.scoped)
  )

  it.effect("UnitLedger.reserve spends daily units of the free plan only with a confirmed address in production", () =>
    Effect.gen(function* () {
      const ledger = Context.get(yield* Layer.build(Layer.fresh(makeUnitLedger(true))), UnitLedger)
      const user = yield* userWithCredits(0.1)
      assert.deepStrictEqual(yield* ledger.findUsage(user), { dailyUnits: 0, used: 0, remaining: 0 })
      for (const cause of ["too much", "again"])
        assert.deepInclude(yield* Effect.flip(ledger.reserve(user, Units(11), cause)), { remaining: Units(10) })
      assert.deepStrictEqual(yield* sql`select kind, data from events where user_id = ${user.id}`, [
        { kind: "budget.reached", data: { remainingUnits: 10, requiredUnits: 11 } }
      ])
      yield* ledger.reserve(user, Units(4), "credits")
      assert.deepStrictEqual(yield* balanceOf(user), { used: 0, credits: 0.06 })
      yield* sql`update users set email_verified_at = now() where id = ${user.id}`
      // The caller read the user before the verification; the stored state decides.
      yield* ledger.reserve(user, Units(50), "confirmed")
      assert.deepStrictEqual(yield* balanceOf(user), { used: 50, credits: 0.06 })
      yield* sql`update users set email_verified_at = null, plan = 'solo' where id = ${user.id}`
      yield* ledger.reserve({ ...user, plan: "solo" }, Units(10), "paid plan")
      assert.deepInclude(yield* balanceOf(user), { credits: Credits(0.06) })
    }).pipe(Effect.scoped)
  )

  it.effect("The ledger of a deleted user is kept without the user's id", () =>
    Effect.gen(function* () {
      const { settle } = yield* UnitLedger
      const user = yield* insertUser()
      const id = yield* reserved(user, 3, "a")
      yield* settle(id, Units(3))
      yield* sql`delete from users where id = ${user.id}`
      const entries = yield* sql`
        select user_id, account, units::int as units from ledger_entries where transaction_id = ${id} order by account`
      assert.deepStrictEqual(entries, [
        { userId: null, account: "allowance", units: -3 },
        { userId: null, account: "usage", units: 3 }
      ])
    })
  )
})
