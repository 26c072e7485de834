import { LedgerAudit } from "@berth/domain/billing/units/LedgerAudit"
import { Effect, Metric } from "effect"
import { runHourlyTask } from "../jobs/HourlyTask.ts"

const discrepancies = Metric.gauge("berth_ledger_discrepancies", {
  description: "Balances that the ledger does not bear out, when it was last checked; anything but 0 wants a person"
})

/** So many are told one by one; the metric has the rest. */
const maximumLogged = 20

/** Checks that the books add up. What does not is told and left as it is. */
export const layer = runHourlyTask(
  {
    span: "LedgerAudit.run",
    task: "check the ledger",
    done: "Balances that the ledger does not bear out were reported",
    kind: "discrepancies"
  },
  Effect.gen(function* () {
    const audit = yield* LedgerAudit
    const found = yield* audit.findDiscrepancies
    yield* Metric.set(discrepancies, found.length)
    yield* Effect.forEach(
      found.slice(0, maximumLogged),
      ({ derived, id, stored, what }) =>
        Effect.logError("The ledger does not add up").pipe(Effect.annotateLogs({ what, id, stored, derived })),
      { discard: true }
    )
    return found.length
  })
)
