import { SavedCardCharges } from "@berth/domain/billing/checkout/SavedCardCharges"
import { CardEventEffects } from "@berth/domain/billing/events/CardEventEffects"
import { Effect, Layer } from "effect"
import { runRecurringTask } from "../jobs/RecurringTask.ts"

const retryOverdueEvents = Effect.flatMap(CardEventEffects, (effects) =>
  Effect.tap(effects.retryOverdue, (events) =>
    events > 0
      ? Effect.logWarning("Jobs of unapplied card events added again").pipe(Effect.annotateLogs({ events }))
      : Effect.void
  )
)

// A process can die between a charge and its booking; the card processor has the result.
const reconcileCharges = Effect.flatMap(SavedCardCharges, ({ reconcileOpenCharges }) => reconcileOpenCharges).pipe(
  Effect.tap((charges) =>
    charges > 0 ? Effect.logInfo("Open charges reconciled").pipe(Effect.annotateLogs({ charges })) : Effect.void
  )
)

/** Completes purchases and card events whose process died before they were applied. */
export const layer = Layer.scopedDiscard(
  Effect.zipRight(
    runRecurringTask("retry overdue card events", "1 minute", retryOverdueEvents),
    runRecurringTask("reconcile open charges", "1 minute", reconcileCharges)
  )
)
