import { VerificationChecks } from "@berth/domain/verification/VerificationChecks"
import { Effect, Layer } from "effect"
import { runRecurringTask } from "../jobs/RecurringTask.ts"

const every = "1 minute"

/** Starts due checks of verifications. */
export const layer = Layer.scopedDiscard(
  Effect.flatMap(VerificationChecks, ({ scheduleDue }) =>
    runRecurringTask("checks of verifications", every, Effect.withTracerEnabled(scheduleDue(), false))
  )
)
