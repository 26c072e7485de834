import { Duration, Effect, type Option, Schedule } from "effect"
import * as HostProcess from "./HostProcess.ts"

/** A cell gives its turns five seconds; this leaves it one more to close. */
const grace = Duration.seconds(6)
/** A killed process that stays is one that the system itself cannot end. */
const afterKill = Duration.seconds(5)
const step = Duration.millis(20)

/** Counted in steps, because a timeout does not fire where interruption is off, as it is when layers close. */
const gone = (pid: number, within: Duration.Duration): Effect.Effect<boolean> =>
  Effect.sync(() => HostProcess.isAlive(pid)).pipe(
    Effect.repeat({
      while: (alive) => alive,
      schedule: Schedule.intersect(
        Schedule.spaced(step),
        Schedule.recurs(Math.ceil(Duration.toMillis(within) / Duration.toMillis(step)))
      )
    }),
    Effect.zipRight(Effect.sync(() => !HostProcess.isAlive(pid)))
  )

/** Ends a process of ours, by force if it takes too long. */
export const endProcess = (pid: number, began: Option.Option<string>): Effect.Effect<void> =>
  Effect.gen(function* () {
    HostProcess.signal(pid, "SIGTERM")
    if (yield* gone(pid, grace)) return
    // It may have ended in the very last moment, and its number be another's.
    if ((yield* HostProcess.find(pid, began)) === "strange") return
    yield* Effect.logWarning("A cell did not end in time and is killed").pipe(Effect.annotateLogs({ pid }))
    HostProcess.signal(pid, "SIGKILL")
    if (yield* gone(pid, afterKill)) return
    yield* Effect.logError("A killed cell is still there").pipe(Effect.annotateLogs({ pid }))
  }).pipe(Effect.uninterruptible)
