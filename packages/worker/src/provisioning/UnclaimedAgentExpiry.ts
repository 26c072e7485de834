import { UnclaimedExpiry } from "@berth/domain/provisioning/UnclaimedExpiry"
import { Effect, Layer } from "effect"
import { runRecurringTask } from "../jobs/RecurringTask.ts"

const every = "1 minute"

/** Stops and later removes unclaimed agents. */
export const layer = Layer.scopedDiscard(
  Effect.flatMap(UnclaimedExpiry, ({ run }) =>
    runRecurringTask("expiry of unclaimed agents", every, Effect.withTracerEnabled(run(), false))
  )
)
