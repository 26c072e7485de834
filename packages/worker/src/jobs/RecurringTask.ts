import { type Duration, Effect, Schedule, type Scope } from "effect"

const backOff = Schedule.exponential("200 millis").pipe(
  Schedule.union(Schedule.spaced("10 seconds")),
  Schedule.jittered
)

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

/** Repeats `round` until the scope closes, after a failure with growing pauses. */
export const runLoop = <A, E, R>(
  failureMessage: string,
  round: Effect.Effect<A, E, R>
): Effect.Effect<void, never, R | Scope.Scope> =>
  round.pipe(
    Effect.sandbox,
    Effect.tapError((cause) => Effect.logWarning(failureMessage, cause)),
    Effect.retry(backOff),
    Effect.forever,
    Effect.forkScoped,
    Effect.asVoid
  )
