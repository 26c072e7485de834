import { Duration, Effect, type Option, Schedule } from "effect"
import * as HostProcess from "./HostProcess.ts"

/** A cell gives its turns five seconds; this leaves it one more to close. */
const terminationGrace = Duration.seconds(6)
/** A killed process that stays is one that the system itself cannot end. */
const killTimeout = Duration.seconds(5)
const pollInterval = Duration.millis(20)

/** Counted in steps, because a timeout does not fire where interruption is off, as it is when layers close. */
const waitUntilGone = (pid: number, within: Duration.Duration): Effect.Effect<boolean> =>
  Effect.sync(() => HostProcess.isRunning(pid)).pipe(
    Effect.repeat({
      while: (alive) => alive,
      schedule: Schedule.intersect(
        Schedule.spaced(pollInterval),
        Schedule.recurs(Math.ceil(Duration.toMillis(within) / Duration.toMillis(pollInterval)))
      )
    }),
    Effect.zipRight(Effect.sync(() => !HostProcess.isRunning(pid)))
  )

/** Ends a process of ours, by force if it takes too long. */
export const terminateProcess = (pid: number, began: Option.Option<string>): Effect.Effect<void> =>
  Effect.gen(function* () {
    HostProcess.sendSignal(pid, "SIGTERM")
    if (yield* waitUntilGone(pid, terminationGrace)) return
    // It may have ended in the very last moment, and its number be another's.
    if ((yield* HostProcess.matchProcess(pid, began)) === "strange") return
    yield* Effect.logWarning("A cell did not end in time and is killed").pipe(Effect.annotateLogs({ pid }))
    HostProcess.sendSignal(pid, "SIGKILL")
    if (yield* waitUntilGone(pid, killTimeout)) return
    yield* Effect.logError("A killed cell is still there").pipe(Effect.annotateLogs({ pid }))
  }).pipe(Effect.uninterruptible)
