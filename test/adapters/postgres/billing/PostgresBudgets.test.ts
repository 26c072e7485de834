import { AgentRepository } from "@berth/domain/agents/AgentRepository"
import { type BudgetLimit, Budgets } from "@berth/domain/billing/budgets/Budget"
import { LedgerAudit } from "@berth/domain/billing/units/LedgerAudit"
import { ReservationRepository } from "@berth/domain/billing/units/ReservationRepository"
import { UnitLedger } from "@berth/domain/billing/units/UnitLedger"
import { Units } from "@berth/domain/shared/Money"
import type { User } from "@berth/domain/shared/User"
import { migrations } from "@berth/infra/postgres/Migrations"
import * as PostgresReservationRepository from "@berth/infra/postgres/billing/PostgresReservationRepository"
import { SqlClient } from "@effect/sql/SqlClient"
import { assert, layer } from "@effect/vitest"
import { Context, DateTime, Effect, Either, Layer, Option, TestClock, TestContext } from "effect"
import { BillingServices } from "../../../support/billing/BillingServices.ts"
import { insertAgent, insertUser } from "../../../support/Samples.ts"

const limit = (units: number, fields: Partial<BudgetLimit> = {}): BudgetLimit => ({
  agentId: null,
  period: "day",
  units: Units(units),
  ...fields
})

const setBudgets = (user: User, ...limits: ReadonlyArray<BudgetLimit>) =>
  Effect.flatMap(Budgets, ({ replace }) => replace(user.id, limits))

const usedOf = (user: User) =>
  Effect.flatMap(Budgets, ({ list }) => Effect.map(list(user.id), (budgets) => budgets.map((one) => one.usedUnits)))

const addsUp = Effect.flatMap(LedgerAudit, (audit) =>
  Effect.map(audit.findDiscrepancies, (found) => assert.deepStrictEqual(found, []))
)

layer(BillingServices, { excludeTestServices: true })("Budgets", (it) => {
  it.effect("Budgets let exactly the units through that fit when fifty calls reserve at the same time", () =>
    Effect.gen(function* () {
      const { reserve } = yield* UnitLedger
      const user = yield* insertUser()
      const agent = yield* insertAgent(user.id)
      yield* setBudgets(user, limit(20), limit(7, { agentId: agent.id, period: "month" }))
      const outcomes = yield* Effect.forEach(
        Array.from({ length: 50 }, (_, n) => (n % 2 === 0 ? agent.id : null)),
        (agentId, n) =>
          Effect.map(Effect.either(reserve(user, Units(1), `call ${n}`, agentId)), (made) => ({ agentId, made })),
        { concurrency: "unbounded" }
      )
      const accepted = outcomes.filter(({ made }) => Either.isRight(made))
      assert.lengthOf(accepted, 20)
      const ofAgent = accepted.filter(({ agentId }) => agentId !== null).length
      assert.isAtMost(ofAgent, 7)
      assert.deepStrictEqual(yield* usedOf(user), [20, ofAgent])
      for (const { made } of outcomes) if (Either.isLeft(made)) assert.strictEqual(made.left._tag, "BudgetExceeded")
    })
  )

  it.effect("Budgets of a month bind reservations of two days that grow at the same time, without a deadlock", () =>
    Effect.gen(function* () {
      const { extend, reserve } = yield* UnitLedger
      yield* TestClock.setTime(Date.UTC(2027, 0, 30, 23, 59))
      for (const round of [1, 2, 3, 4, 5]) {
        const user = yield* insertUser()
        yield* setBudgets(user, limit(30, { period: "month" }))
        const causes = Array.from({ length: 5 }, (_, n) => `turn ${n}`)
        const old = yield* Effect.forEach(causes, (cause) => reserve(user, Units(1), cause))
        yield* TestClock.adjust("2 minutes")
        yield* Effect.all(
          [
            Effect.forEach(old, (id) => extend(Option.getOrThrow(id), Units(6)), { concurrency: "unbounded" }),
            Effect.forEach(causes, (cause) => Effect.either(reserve(user, Units(5), `new ${cause}`)), {
              concurrency: "unbounded"
            })
          ],
          { concurrency: 2 }
        )
        assert.deepStrictEqual(yield* usedOf(user), [30], `round ${round}`)
        // A new month restores all units, also for earlier reservations.
        yield* TestClock.adjust("2 days")
        assert.deepStrictEqual(yield* usedOf(user), [0])
        yield* reserve(user, Units(30), "next month")
        yield* TestClock.setTime(Date.UTC(2027, 0, 30, 23, 59))
      }
      yield* addsUp
    }).pipe(Effect.provide(TestContext.TestContext))
  )

  it.effect("Budgets count the deliveries of a killed process, and not the rest of its reservations", () =>
    Effect.gen(function* () {
      const { closeAbandoned, recordDeliveries } = yield* ReservationRepository
      const { reserve } = yield* UnitLedger
      const killed = Context.get(
        yield* Layer.build(Layer.fresh(PostgresReservationRepository.layer)),
        ReservationRepository
      )
      const user = yield* insertUser()
      yield* setBudgets(user, limit(20))
      const held = { user, agentId: null, dailyUnitsOf: () => Units(50) }
      const streamed = yield* killed.reserve({ ...held, units: Units(12), cause: "streamed" })
      yield* killed.reserve({ ...held, units: Units(8), cause: "silent" })
      yield* recordDeliveries([{ id: streamed, units: Units(5) }])
      const refused = yield* Effect.flip(reserve(user, Units(1), "another"))
      assert.deepInclude(refused, { _tag: "BudgetExceeded", requiredUnits: Units(1) })
      yield* closeAbandoned(DateTime.add(yield* DateTime.now, { hours: 1 }))
      assert.deepStrictEqual(yield* usedOf(user), [5])
      yield* reserve(user, Units(15), "another")
    }).pipe(Effect.scoped)
  )

  it.effect("Budgets count the whole month when reservations are deleted sooner", () =>
    Effect.gen(function* () {
      const { prune } = yield* ReservationRepository
      const { reserve, settle } = yield* UnitLedger
      const [user, unlimited] = [yield* insertUser(), yield* insertUser()]
      yield* setBudgets(user, limit(40, { period: "month" }))
      yield* TestClock.setTime(Date.UTC(2027, 4, 10))
      const old = yield* Effect.forEach([user, unlimited], (payer) => reserve(payer, Units(30), "old"))
      yield* Effect.forEach(old, (id) => settle(Option.getOrThrow(id), Units(30)))
      yield* TestClock.setTime(Date.UTC(2027, 4, 20))
      yield* addsUp
      yield* prune(DateTime.subtract(yield* DateTime.now, { days: 2 }))
      assert.deepStrictEqual(yield* usedOf(user), [30])
      yield* setBudgets(unlimited, limit(40, { period: "month" }))
      assert.deepStrictEqual(yield* usedOf(unlimited), [30])
      yield* TestClock.setTime(Date.UTC(2027, 5, 1))
      yield* prune(DateTime.subtract(yield* DateTime.now, { days: 2 }))
      yield* TestClock.setTime(Date.UTC(2027, 4, 20))
      assert.deepStrictEqual(yield* usedOf(user), [0])
    }).pipe(Effect.provide(TestContext.TestContext))
  )

  it.effect(
    "Budgets bind an open reservation of an earlier month by that whole month after others of it are deleted",
    () =>
      Effect.gen(function* () {
        const { prune } = yield* ReservationRepository
        const { extend, reserve, settle } = yield* UnitLedger
        const user = yield* insertUser()
        yield* setBudgets(user, limit(40, { period: "month" }))
        yield* TestClock.setTime(Date.UTC(2027, 7, 10))
        yield* settle(Option.getOrThrow(yield* reserve(user, Units(30), "old")), Units(30))
        yield* TestClock.setTime(Date.UTC(2027, 7, 31))
        const open = Option.getOrThrow(yield* reserve(user, Units(2), "open"))
        yield* TestClock.setTime(Date.UTC(2027, 8, 5))
        yield* addsUp
        yield* prune(DateTime.subtract(yield* DateTime.now, { days: 2 }))
        assert.strictEqual(yield* extend(open, Units(20)), 10)
        assert.deepStrictEqual(yield* usedOf(user), [0])
        yield* addsUp
      }).pipe(Effect.provide(TestContext.TestContext))
  )

  it.effect("Budgets are reached exactly by calls that cost more than they reserved and end at the same time", () =>
    Effect.gen(function* () {
      const { reserve, settle } = yield* UnitLedger
      const user = yield* insertUser()
      yield* setBudgets(user, limit(33, { period: "month" }))
      const open = yield* Effect.forEach([1, 2, 3, 4, 5, 6, 7, 8], (n) => reserve(user, Units(1), `call ${n}`))
      yield* Effect.forEach(open, (id) => settle(Option.getOrThrow(id), Units(6), Units(1)), {
        concurrency: "unbounded"
      })
      assert.deepStrictEqual(yield* usedOf(user), [33])
      yield* addsUp
    })
  )

  it.effect("Budgets count the reservations that existed before the counters of agents", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const { release, reserve, settle } = yield* UnitLedger
      const user = yield* insertUser()
      const agent = yield* insertAgent(user.id)
      yield* setBudgets(user, limit(50), limit(50, { agentId: agent.id }))
      const call = (units: number, cause: string) =>
        Effect.map(reserve(user, Units(units), cause, cause === "of no agent" ? null : agent.id), Option.getOrThrow)
      yield* call(3, "open")
      yield* settle(yield* call(9, "settled"), Units(5))
      yield* release(yield* call(4, "released"))
      yield* settle(yield* call(7, "of no agent"), Units(7))
      const counters = sql`
        select agent_id, units::int as units from agent_unit_days
        where user_id = ${user.id} and units > 0 order by units`
      const before = yield* counters
      assert.deepStrictEqual(before, [
        { agentId: "", units: 7 },
        { agentId: agent.id, units: 8 }
      ])
      yield* sql`drop table agent_unit_days`
      yield* sql`drop function count_agent_units cascade`
      yield* sql.unsafe(migrations.find(({ file }) => file.endsWith("agent_unit_days.ts"))?.sql ?? "")
      assert.deepStrictEqual(yield* counters, before)
      assert.deepStrictEqual(yield* usedOf(user), [15, 8])
    })
  )

  it.effect("Budgets can be replaced while calls reserve, and bind the calls that begin afterwards", () =>
    Effect.gen(function* () {
      const { reserve } = yield* UnitLedger
      const user = yield* insertUser()
      const agent = yield* insertAgent(user.id)
      const call = (cause: string) => Effect.either(reserve(user, Units(1), cause, agent.id))
      yield* Effect.forEach(
        Array.from({ length: 40 }, (_, n) => n),
        (n) =>
          n % 4 === 0
            ? Effect.asVoid(setBudgets(user, ...(n % 8 === 0 ? [limit(3), limit(2, { agentId: agent.id })] : [])))
            : Effect.asVoid(call(`racing ${n}`)),
        { concurrency: "unbounded" }
      )
      yield* setBudgets(user, limit(0, { agentId: agent.id }))
      const refused = yield* Effect.flip(Effect.flatten(call("afterwards")))
      assert.deepInclude(refused, { _tag: "BudgetExceeded" })
      yield* reserve(user, Units(1), "of no agent")
      yield* addsUp
    })
  )

  it.effect("Budgets of an agent end with the agent, or with its transfer to another account", () =>
    Effect.gen(function* () {
      const agents = yield* AgentRepository
      const [user, other] = [yield* insertUser(), yield* insertUser()]
      const [moved, removed] = [yield* insertAgent(user.id), yield* insertAgent(user.id)]
      yield* setBudgets(user, limit(5), limit(5, { agentId: moved.id }), limit(5, { agentId: removed.id }))
      assert.lengthOf(yield* usedOf(user), 3)
      yield* agents.remove(removed.id)
      yield* agents.transfer(moved.id, user.id, other.id)
      const { list } = yield* Budgets
      assert.deepStrictEqual(
        (yield* list(user.id)).map(({ agentId }) => agentId),
        [null]
      )
      assert.deepStrictEqual(yield* list(other.id), [])
      const refused = yield* Effect.flip(setBudgets(user, limit(5, { agentId: moved.id })))
      assert.deepInclude(refused, { _tag: "BudgetAgentNotFound", agentIds: [moved.id] })
      assert.lengthOf(yield* list(user.id), 1)
    })
  )
})
