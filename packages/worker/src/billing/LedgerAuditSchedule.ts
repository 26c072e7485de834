import { LedgerAudit } from "@berth/domain/billing/units/LedgerAudit"
import { Effect, Layer, Metric } from "effect"
import { runRecurringTask } from "../jobs/RecurringTask.ts"

const discrepancies = Metric.gauge("berth_ledger_discrepancies", {
  description: "Balances that differ from the ledger at the last audit, NaN if it failed; investigate any value but 0"
})
const audits = Metric.counter("berth_ledger_audits_total", {
  description: "Ledger audits by outcome: success, failure",
  incremental: true
})
const countAudit = (outcome: "success" | "failure") => Metric.increment(Metric.tagged(audits, "outcome", outcome))

/** Maximum discrepancies logged individually; the metric counts all. */
const maximumLogged = 20

const audit = Effect.gen(function* () {
  const found = yield* Effect.flatMap(LedgerAudit, ({ findDiscrepancies }) => findDiscrepancies)
  yield* Metric.set(discrepancies, found.length)
  yield* countAudit("success")
  yield* Effect.forEach(
    found.slice(0, maximumLogged),
    ({ derived, id, stored, what }) =>
      Effect.logError("Balance differs from the ledger").pipe(Effect.annotateLogs({ what, id, stored, derived })),
    { discard: true }
  )
}).pipe(
  Effect.onError(() => Effect.zipRight(Metric.set(discrepancies, Number.NaN), countAudit("failure"))),
  Effect.withSpan("LedgerAudit.run")
)

/** Compares the balances with the ledger every hour. Differences are reported without correction. */
export const layer = Layer.scopedDiscard(runRecurringTask("audit the ledger", "1 hour", audit))
