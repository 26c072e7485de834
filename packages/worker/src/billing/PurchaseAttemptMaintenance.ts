import { Purchases } from "@berth/domain/billing/checkout/Purchases"
import { Duration, Effect, Layer } from "effect"
import { runRecurringTask } from "../jobs/RecurringTask.ts"
import { runHourlyTask } from "../jobs/HourlyTask.ts"

const every = Duration.minutes(1)

/** Charges that nobody heard the end of are looked up, so that what was paid is there although a process died behind it. */
const openCharges = Layer.scopedDiscard(
  runRecurringTask(
    "look up charges",
    every,
    Effect.flatMap(Purchases, ({ reconcileOpenCharges }) => reconcileOpenCharges).pipe(
      Effect.tap((count) =>
        count > 0 ? Effect.logInfo("Charges were looked up").pipe(Effect.annotateLogs({ charges: count })) : Effect.void
      )
    )
  )
)

const attemptRetention = runHourlyTask(
  {
    span: "PurchaseAttemptRetention.run",
    task: "forget old attempts to buy",
    done: "Old attempts to buy were forgotten",
    kind: "attempts"
  },
  Effect.flatMap(Purchases, ({ prune }) => prune)
)

export const layer = Layer.merge(openCharges, attemptRetention)
