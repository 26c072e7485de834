import { Duration, Effect } from "effect"
import { isProcessAlive } from "../process/ProcessIdentity.ts"

const stopTimeout = Duration.seconds(60)

/**
 * Repeats `check` until it succeeds or the limit expires, and returns whether it succeeded. Unlike timeouts, works in
 * finalizers.
 */
export const pollUntil = (
  check: Effect.Effect<boolean>,
  every: Duration.Duration,
  limit: Duration.Duration
): Effect.Effect<boolean> =>
  Effect.suspend(() => {
    const rounds = Math.ceil(Duration.toMillis(limit) / Duration.toMillis(every))
    const round = (left: number): Effect.Effect<boolean> =>
      Effect.flatMap(check, (holds) =>
        holds || left <= 0 ? Effect.succeed(holds) : Effect.zipRight(Effect.sleep(every), round(left - 1))
      )
    return round(rounds)
  })

export const isGone = (pid: number) => Effect.sync(() => !isProcessAlive(pid))

const signal = (pid: number, name: NodeJS.Signals) =>
  Effect.try(() => process.kill(pid, name)).pipe(
    Effect.catchAll(() => Effect.logDebug(`PostgreSQL (${pid}) exited before ${name}`)),
    Effect.asVoid
  )

/** Stops the server: fast shutdown, then immediate, then SIGKILL. */
export const stop = Effect.fn("PostgresShutdown.stop")(function* (pid: number, mode: "fast" | "immediate") {
  const every = Duration.millis(15)
  if (mode === "fast") {
    yield* signal(pid, "SIGINT")
    if (yield* pollUntil(isGone(pid), every, stopTimeout)) return
    yield* Effect.logWarning("PostgreSQL did not stop in time and is stopped without a checkpoint")
  }
  yield* signal(pid, "SIGQUIT")
  if (yield* pollUntil(isGone(pid), every, Duration.seconds(10))) return
  yield* signal(pid, "SIGKILL")
})
