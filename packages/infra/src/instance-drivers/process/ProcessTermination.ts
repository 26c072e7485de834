import { runtimeDrainSeconds } from "@berth/api/runtime/RuntimeContract"
import { Data, Duration, Effect, Option, Schedule } from "effect"
import { execFile } from "node:child_process"
import { isProcessAlive, matchProcess, sendSignal } from "../../process/ProcessIdentity.ts"

/** Drain time of a runtime's turns, plus one second to close. */
const terminationGrace = Duration.seconds(runtimeDrainSeconds + 1)
const killTimeout = Duration.seconds(5)
const pollInterval = Duration.millis(20)

/** Counted in polls, since a timeout does not interrupt an uninterruptible region, for example when layers close. */
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

/**
 * Kills all processes of an instance's account. One system call signals all of them, so that none can fork in between.
 */
export const killAccount = (account: Option.Option<number>): Effect.Effect<void> =>
  Option.match(account, {
    onNone: () => Effect.void,
    onSome: (uid) =>
      Effect.async((resume) => {
        execFile("/bin/sh", ["-c", "kill -KILL -1"], { uid, gid: uid, cwd: "/", env: {} }, () => resume(Effect.void))
      })
  })

/** The process is blocked in the kernel, for example by a disk. */
export class ProcessStillRunning extends Data.TaggedError("ProcessStillRunning")<{ readonly pid: number }> {
  override readonly message = `Process ${this.pid} still runs after SIGKILL. Check the disks of the host, which such a process waits for.`
}

const terminateMain = Effect.fnUntraced(function* (
  pid: number,
  startMark: Option.Option<string>
): Effect.fn.Return<void, ProcessStillRunning> {
  sendSignal(pid, "SIGTERM")
  if (yield* waitUntilGone(pid, terminationGrace)) return
  // The process may have ended after the last poll, and its pid may be reused.
  if (matchProcess(pid, startMark) === "different") return
  yield* Effect.logWarning("Instance did not end in time and is killed").pipe(Effect.annotateLogs({ pid }))
  sendSignal(pid, "SIGKILL")
  if (yield* waitUntilGone(pid, killTimeout)) return
  return yield* new ProcessStillRunning({ pid })
})

/**
 * Terminates a process of this driver: SIGTERM, then SIGKILL after the grace period. Then kills remaining processes of
 * its separate account.
 */
export const terminateProcess = (
  pid: number,
  startMark: Option.Option<string>,
  account: Option.Option<number>
): Effect.Effect<void, ProcessStillRunning> =>
  Effect.uninterruptible(Effect.ensuring(terminateMain(pid, startMark), killAccount(account)))

/** As `terminateProcess`, where another failure is reported or no failure is possible. */
export const terminateProcessOrLog = (
  ...[pid, startMark, account]: Parameters<typeof terminateProcess>
): Effect.Effect<void> =>
  Effect.catchAll(terminateProcess(pid, startMark, account), ({ message }) =>
    Effect.logError("Instance not ended").pipe(Effect.annotateLogs({ pid, reason: message }))
  )
