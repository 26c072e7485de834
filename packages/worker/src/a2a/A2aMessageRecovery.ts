import { A2aDelivery } from "@berth/domain/a2a/A2aDelivery"
import { Effect, Layer } from "effect"
import { runRecurringTask } from "../jobs/RecurringTask.ts"

/** Ends messages between agents with a lost job. */
export const layer = Layer.scopedDiscard(
  Effect.flatMap(A2aDelivery, ({ failLost }) =>
    runRecurringTask("lost messages between agents", "10 minutes", failLost())
  )
)
