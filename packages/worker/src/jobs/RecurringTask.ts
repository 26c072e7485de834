import { type Duration, Effect, Schedule, type Scope } from "effect"

/**
 * Does something now and again, `pause` after it was done the last time, until the scope closes. It never ends by itself: what
 * goes wrong is logged, and the next round is another chance.
 */
export const runRecurringTask = <A, E, R>(
  what: string,
  pause: Duration.DurationInput,
  work: Effect.Effect<A, E, R>
): Effect.Effect<void, never, R | Scope.Scope> =>
  work.pipe(
    Effect.catchAllCause((cause) =>
      Effect.logError("A recurring task failed and will be done again", cause).pipe(Effect.annotateLogs({ task: what }))
    ),
    Effect.repeat(Schedule.spaced(pause)),
    Effect.forkScoped,
    Effect.asVoid
  )
