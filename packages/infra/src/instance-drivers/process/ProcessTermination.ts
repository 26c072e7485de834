import { runtimeDrainSeconds } from "@berth/api/runtime/RuntimeContract"
import { Duration, Effect, type Option, Schedule } from "effect"
import { isProcessAlive, matchProcess, sendSignal } from "../../process/ProcessIdentity.ts"

/** The drain of a runtime's turns, and one second to close. */
const terminationGrace = Duration.seconds(runtimeDrainSeconds + 1)
const killTimeout = Duration.seconds(5)
const pollInterval = Duration.millis(20)

/** Counted in polls: a timeout does not fire in an uninterruptible region, as when layers close. */
const waitUntilGone = (pid: number, within: Duration.Duration): Effect.Effect<boolean> =>
  Effect.sync(() => isProcessAlive(pid)).pipe(
    Effect.repeat({
      while: (alive) => alive,
      schedule: Schedule.intersect(
        Schedule.spaced(pollInterval),
        Schedule.recurs(Math.ceil(Duration.toMillis(within) / Duration.toMillis(pollInterval)))
      )
    }),
    Effect.zipRight(Effect.sync(() => !isProcessAlive(pid)))
  )

/** Terminates a process of this driver: SIGTERM, then SIGKILL after the grace. */
export const terminateProcess = (pid: number, startMark: Option.Option<string>): Effect.Effect<void> =>
  Effect.gen(function* () {
    sendSignal(pid, "SIGTERM")
    if (yield* waitUntilGone(pid, terminationGrace)) return
    // It may have ended after the last poll, and another process may have its number.
    if (matchProcess(pid, startMark) === "different") return
    yield* Effect.logWarning("Instance did not end in time and is killed").pipe(Effect.annotateLogs({ pid }))
    sendSignal(pid, "SIGKILL")
    if (yield* waitUntilGone(pid, killTimeout)) return
    yield* Effect.logError("Killed instance still runs").pipe(Effect.annotateLogs({ pid }))
  }).pipe(Effect.uninterruptible)
