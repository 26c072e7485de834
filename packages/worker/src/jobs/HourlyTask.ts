import { Duration, Effect, Layer } from "effect"
import { runRecurringTask } from "./RecurringTask.ts"

const every = Duration.hours(1)

/**
 * Removes what nobody needs any more, once at the start and then every hour, and says so when there was something. `task` is what
 * is done, `done` the same afterwards, and `kind` what the removed things are counted as.
 */
export const runHourlyTask = <R>(
  { done, kind, span, task }: Readonly<Record<"span" | "task" | "done" | "kind", string>>,
  remove: Effect.Effect<number, never, R>
) =>
  Layer.scopedDiscard(
    runRecurringTask(
      task,
      every,
      remove.pipe(
        Effect.tap((removed) =>
          removed > 0 ? Effect.logInfo(done).pipe(Effect.annotateLogs(kind, removed)) : Effect.void
        ),
        Effect.withSpan(span)
      )
    )
  )
