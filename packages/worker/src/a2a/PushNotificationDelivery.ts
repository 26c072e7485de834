import { PushDispatch } from "@berth/domain/a2a/tasks/PushDispatch"
import { Effect, Layer } from "effect"
import { runRecurringTask } from "../jobs/RecurringTask.ts"

/** Tells clients the ends of their tasks. */
export const layer = Layer.scopedDiscard(
  Effect.flatMap(PushDispatch, ({ deliverDue }) => runRecurringTask("push notifications", "1 second", deliverDue))
).pipe(Layer.provide(PushDispatch.Default))
