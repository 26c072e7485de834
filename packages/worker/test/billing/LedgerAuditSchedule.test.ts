import { type LedgerDiscrepancy, LedgerAudit } from "@berth/domain/billing/units/LedgerAudit"
import { assert, describe, it } from "@effect/vitest"
import { Effect, HashMap, Layer, Logger, Metric, Option, Ref, TestClock } from "effect"
import * as LedgerAuditSchedule from "../../src/billing/LedgerAuditSchedule.ts"
import { Units } from "@berth/domain/shared/Money"

const gauge = Metric.value(
  Metric.gauge("berth_ledger_discrepancies", {
    description: "Balances that differ from the ledger at the last audit, NaN if it failed; investigate any value but 0"
  })
)

describe("LedgerAuditSchedule", () => {
  it.scoped("LedgerAuditSchedule reports differences at the start and every hour, in the log and in the metric", () =>
    Effect.gen(function* () {
      const errors: Array<unknown> = []
      const logger = Logger.make(({ annotations, logLevel }) => {
        if (logLevel._tag === "Error") errors.push(Option.getOrNull(HashMap.get(annotations, "id")))
      })
      const found = yield* Ref.make<ReadonlyArray<LedgerDiscrepancy>>([
        { what: "credits", id: "usr_1", stored: Units(5), derived: Units(6) },
        { what: "day", id: "usr_2 2026-03-01", stored: Units(1), derived: Units(0) }
      ])
      yield* LedgerAuditSchedule.layer.pipe(
        Layer.provide(Layer.succeed(LedgerAudit, { findDiscrepancies: found })),
        Layer.provide(Logger.replace(Logger.defaultLogger, logger)),
        Layer.build
      )
      yield* TestClock.adjust("30 minutes")
      assert.deepStrictEqual(errors, ["usr_1", "usr_2 2026-03-01"])
      assert.strictEqual((yield* gauge).value, 2)
      yield* Ref.set(found, [])
      yield* TestClock.adjust("1 hour")
      assert.strictEqual(errors.length, 2)
      assert.strictEqual((yield* gauge).value, 0)
    })
  )

  it.scoped("LedgerAuditSchedule shows no number of discrepancies after an audit that failed", () =>
    Effect.gen(function* () {
      const isDown = yield* Ref.make(true)
      const findDiscrepancies = Effect.flatMap(isDown, (down) =>
        down ? Effect.dieMessage("the database is down") : Effect.succeed<ReadonlyArray<LedgerDiscrepancy>>([])
      )
      yield* Layer.build(Layer.provide(LedgerAuditSchedule.layer, Layer.succeed(LedgerAudit, { findDiscrepancies })))
      yield* TestClock.adjust("1 minute")
      assert.isNaN((yield* gauge).value)
      yield* Ref.set(isDown, false)
      yield* TestClock.adjust("1 hour")
      assert.strictEqual((yield* gauge).value, 0)
    })
  )
})
