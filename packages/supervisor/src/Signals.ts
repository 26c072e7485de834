import { Effect, Runtime } from "effect"
import { LiveProcesses } from "./programs/LiveProcesses.ts"

/** Maximum wait for killed processes in nanoseconds, so that an immediate restart does not conflict with them. */
const killTimeout = 2_000_000_000n

/** 128 + SIGINT. */
const interruptedExitCode = 130

/**
 * The first signal interrupts the program (through the Effect runtime), and everything drains. The second kills all
 * processes and exits. SIGHUP counts as a signal.
 */
export const endOnSecondSignal = Effect.fn("Signals.endOnSecondSignal")(function* (killOrphans: Effect.Effect<void>) {
  const processes = yield* LiveProcesses
  const runtime = yield* Effect.runtime()
  const state = { requests: 0, hasOrphans: true }
  const onRequest = () => {
    state.requests += 1
    if (state.requests === 1) return
    processes.endAll()
    Runtime.runCallback(runtime)(killOrphans, { onExit: () => (state.hasOrphans = false) })
    const waitedSince = process.hrtime.bigint()
    const leave = () => {
      const isDone = !processes.hasRunning() && !state.hasOrphans
      if (isDone || process.hrtime.bigint() - waitedSince > killTimeout) process.exit(interruptedExitCode)
    }
    leave()
    setInterval(leave, 5)
  }
  const onHangup = () => process.kill(process.pid, "SIGTERM")
  yield* Effect.acquireRelease(
    Effect.sync(() => {
      process.on("SIGTERM", onRequest)
      process.on("SIGINT", onRequest)
      process.on("SIGHUP", onHangup)
    }),
    () =>
      Effect.sync(() => {
        process.removeListener("SIGTERM", onRequest)
        process.removeListener("SIGINT", onRequest)
        process.removeListener("SIGHUP", onHangup)
      })
  )
})
