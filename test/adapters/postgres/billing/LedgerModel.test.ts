import { AgentRepository } from "@berth/domain/agents/AgentRepository"
import { type Budget, Budgets } from "@berth/domain/billing/budgets/Budget"
import type { User } from "@berth/domain/shared/User"
import { UnitLedger } from "@berth/domain/billing/units/UnitLedger"
import { ReservationRepository } from "@berth/domain/billing/units/ReservationRepository"
import { ReservationId } from "@berth/domain/billing/units/Reservation"
import { CreditPurchases } from "@berth/domain/billing/credits/CreditPurchases"
import { computeBalances, findUnbalanced } from "../../../support/billing/LedgerSums.ts"
import { LedgerAudit } from "@berth/domain/billing/units/LedgerAudit"
import { convertUnitsToCredits, MinorUnits, Units } from "@berth/domain/shared/Money"
import type { AgentId } from "@berth/domain/shared/AgentId"
import { assert, describe, it, layer } from "@effect/vitest"
import { DateTime, Effect, Either, FastCheck, Option, TestClock, TestContext } from "effect"
import { readBalance, BillingServices, readLedger } from "../../../support/billing/BillingServices.ts"
import {
  agentIds,
  agentOf,
  budgetLimits,
  daysToMonth,
  type LedgerOperation,
  ledgerOperations,
  LedgerModel,
  reversalOf
} from "../../../support/billing/LedgerModel.ts"
import { insertAgent, insertUser } from "../../../support/Samples.ts"

describe("The model of an account", () => {
  it.prop(
    "The model of an account balances after every step of any history",
    [ledgerOperations(60)],
    ([history]) => {
      const model = new LedgerModel()
      for (const what of history) {
        const before = model.credits
        model.apply(what)
        const balances = computeBalances(model.entries)
        const held = model.held.reduce((sum, { taken }) => sum + taken.credit, 0)
        assert.strictEqual(model.credits, balances.credits - held)
        assert.strictEqual(findUnbalanced(model.entries).size, 0)
        for (const used of model.days.values()) {
          assert.isAtLeast(used, 0)
          assert.isAtMost(used, model.dailyUnits)
        }
        // Only returned money makes credits owed, or increases the debt.
        if (model.credits < Math.min(0, before)) assert.strictEqual(what.is, "reverse")
      }
      model.releaseAll()
      const { allowance, credits, usage } = computeBalances(model.entries)
      assert.strictEqual(model.credits, credits)
      assert.strictEqual(
        [...model.days.values()].reduce((sum, used) => sum + used, 0),
        allowance === 0 ? 0 : -allowance
      )
      assert.isAtLeast(usage, 0)
    },
    { fastCheck: { numRuns: 3000 } }
  )

  it.prop(
    "The model of an account is the same for any order and repetition of purchases and refunds",
    [
      FastCheck.array(FastCheck.constantFrom("sale 1", "sale 2", "sale 3"), { maxLength: 6 }),
      FastCheck.array(FastCheck.constantFrom("sale 1", "sale 2", "sale 3").chain(reversalOf), { maxLength: 6 }),
      FastCheck.nat(50),
      FastCheck.array(FastCheck.nat(), { minLength: 24, maxLength: 24 })
    ],
    ([booked, reversed, spent, lots]) => {
      const operations: ReadonlyArray<LedgerOperation> = [
        ...booked.map((cause) => ({ is: "book" as const, cause, units: 0, amount: 0, kind: "purchase" as const })),
        ...reversed
      ]
      const shuffled = [...operations, ...operations]
        .map((what, n) => ({ what, lot: lots[n] ?? 0 }))
        .sort((a, b) => a.lot - b.lot)
        .map(({ what }) => what)
      const endOf = (history: ReadonlyArray<LedgerOperation>) => {
        const model = new LedgerModel()
        model.apply({ is: "reserve", cause: "call 1", units: spent })
        for (const what of history) model.apply(what)
        model.apply({ is: "settle", cause: "call 1", units: spent })
        return { credits: model.credits, balances: computeBalances(model.entries) }
      }
      assert.deepStrictEqual(endOf(shuffled), endOf(operations))
    },
    { fastCheck: { numRuns: 2000 } }
  )
})

type Agents = ReadonlyMap<AgentId, AgentId>

/** Creates the model's agents for the user. */
const insertAgents = (user: User) =>
  Effect.map(
    Effect.forEach(agentIds, (name) => Effect.map(insertAgent(user.id), ({ id }) => [name, id] as const)),
    (agents): Agents => new Map(agents)
  )

const byKey = (budgets: ReadonlyArray<Budget>) =>
  [...budgets].sort((a, b) => (`${a.agentId} ${a.period}` < `${b.agentId} ${b.period}` ? -1 : 1))

/** The user's budgets, with the agents' names in the model. */
const readBudgets = (user: User, agents: Agents) =>
  Effect.gen(function* () {
    const names = new Map([...agents].map(([name, id]) => [id, name]))
    const budgets = yield* (yield* Budgets).list(user.id)
    return byKey(
      budgets.map((budget) => ({
        ...budget,
        agentId: budget.agentId === null ? null : (names.get(budget.agentId) ?? null)
      }))
    )
  })

const addsUp = Effect.gen(function* () {
  const audit = yield* LedgerAudit
  assert.deepStrictEqual(yield* audit.findDiscrepancies, [])
})

/** Applies an operation of the model to a user; returns the model's kind of result. */
const actor = (user: User, agents: Agents) => {
  const ids = new Map<string, ReservationId>()
  const agentNamed = (name: AgentId | null) => (name === null ? null : (agents.get(name) ?? null))
  return (what: LedgerOperation) =>
    Effect.gen(function* () {
      const { extend, release, reserve, settle } = yield* UnitLedger
      const { book, reverse } = yield* CreditPurchases
      const nameOf = (cause: string) => `${user.id} ${cause}`
      const idOf = (cause: string) => ids.get(cause) ?? ReservationId.make("rsv_none")
      switch (what.is) {
        case "reserve": {
          const agentId = agentNamed(agentOf(what.cause))
          const reserved = yield* Effect.either(reserve(user, Units(what.units), nameOf(what.cause), agentId))
          if (Either.isLeft(reserved)) return reserved.left._tag === "BudgetExceeded" ? "budget" : false
          ids.set(what.cause, Option.getOrThrow(reserved.right))
          return true
        }
        case "extend":
          return yield* extend(idOf(what.cause), Units(what.units))
        case "settle":
          yield* settle(idOf(what.cause), Units(what.units))
          return true
        case "settle beyond":
          yield* settle(idOf(what.cause), Units(what.units), Units(0))
          return true
        case "prune":
          yield* addsUp
          yield* (yield* ReservationRepository).prune(DateTime.subtract(yield* DateTime.now, { days: 1 }))
          return true
        case "release":
          yield* release(idOf(what.cause))
          return true
        case "book": {
          const { amount, cause, kind, units } = what
          const paid = { cause: nameOf(cause), amount: MinorUnits(amount), currency: "USD" as const }
          yield* book({ userId: user.id, credits: convertUnitsToCredits(Units(units)), kind, ...paid })
          return true
        }
        case "reverse":
          yield* reverse({ ...what.reversal, payment: nameOf(what.cause) })
          return true
        case "limit": {
          const limits = what.limits.map((limit) => ({ ...limit, agentId: agentNamed(limit.agentId) }))
          return Either.isRight(yield* Effect.either((yield* Budgets).replace(user.id, limits)))
        }
        case "remove agent":
          yield* (yield* AgentRepository).remove(agentNamed(what.agentId) ?? what.agentId)
          return true
        case "month":
          yield* TestClock.adjust(`${daysToMonth} days`)
          return true
        case "midnight":
          yield* TestClock.adjust("1 day")
          return true
      }
    })
}

layer(BillingServices, { excludeTestServices: true })("An account in the database", (it) => {
  it.effect.prop(
    "An account in the database equals the model after every step of any history",
    [ledgerOperations(14)],
    ([history]) =>
      Effect.gen(function* () {
        const user = yield* insertUser()
        const agents = yield* insertAgents(user)
        const act = actor(user, agents)
        const model = new LedgerModel()
        for (const what of history) {
          assert.strictEqual<unknown>(yield* act(what), model.apply(what), JSON.stringify(what))
          assert.deepStrictEqual(yield* readBalance(user), {
            used: model.used,
            credits: convertUnitsToCredits(Units(model.credits))
          })
          assert.deepStrictEqual(yield* readBudgets(user, agents), byKey(model.budgetsOf(model.today)))
        }
        assert.deepEqual(yield* readLedger(user), computeBalances(model.entries))
        yield* addsUp
      }).pipe(Effect.provide(TestContext.TestContext)),
    { fastCheck: { numRuns: 25 } }
  )

  it.effect.prop(
    "An account in the database balances under concurrent and repeated operations",
    [FastCheck.array(ledgerOperations(6), { minLength: 2, maxLength: 6 }), budgetLimits],
    ([fibers, limits]) =>
      Effect.gen(function* () {
        const user = yield* insertUser()
        const agents = yield* insertAgents(user)
        const act = actor(user, agents)
        yield* act({ is: "limit", limits })
        const timeless = fibers.map((history) =>
          history.filter(({ is }) => !["midnight", "month", "limit", "remove agent", "prune"].includes(is))
        )
        yield* Effect.forEach([...timeless, ...timeless], (history) => Effect.forEach(history, act), {
          concurrency: "unbounded"
        })
        yield* addsUp
        for (const { units, usedUnits } of yield* readBudgets(user, agents)) assert.isAtMost(usedUnits, units)
        // The result of purchases and refunds depends on neither their order nor their number.
        const operations = timeless.flat().filter(({ is }) => is === "book" || is === "reverse")
        const model = new LedgerModel()
        for (const what of operations) model.apply(what)
        const { grants, purchases } = yield* readLedger(user)
        const expected = computeBalances(model.entries)
        assert.deepEqual({ grants, purchases }, { grants: expected.grants, purchases: expected.purchases })
      }),
    { fastCheck: { numRuns: 20 } }
  )
})
