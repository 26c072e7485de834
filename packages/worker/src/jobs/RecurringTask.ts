import { type Duration, Effect, Schedule, type Scope } from "effect"

/**
 * Repeats `work` until the scope closes, with `pause` in between. Failures are logged and do not end the repetition.
 */
export const runRecurringTask = <A, E, R>(
  name: string,
  pause: Duration.DurationInput,
  work: Effect.Effect<A, E, R>
): Effect.Effect<void, never, R | Scope.Scope> =>
  work.pipe(
    Effect.catchAllCause((cause) =>
      Effect.logError("Recurring task failed", cause).pipe(Effect.annotateLogs({ task: name }))
    ),
    Effect.repeat(Schedule.spaced(pause)),
    Effect.forkScoped,
    Effect.asVoid
  )
