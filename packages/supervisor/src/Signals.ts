import { Effect, Runtime } from "effect"
import { LiveProcesses } from "./programs/LiveProcesses.ts"

/** How long killed processes are waited for, in nanoseconds: whoever starts again at once must not meet them. */
const patience = 2_000_000_000n

/** The exit code of a process that was told to end at once. */
const ended = 130

/**
 * The first request to end interrupts the program (that is the runtime's doing) and everything drains. The second means
 * "now": every process is killed, `killOrphans` kills those that they leave, and this process exits. A closed terminal counts
 * as a request.
 */
export const secondSignalEndsAtOnce = Effect.fn("Signals.secondSignalEndsAtOnce")(function* (
  killOrphans: Effect.Effect<void>
) {
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
      const isDone = !processes.anyAlive() && !state.hasOrphans
      if (isDone || process.hrtime.bigint() - waitedSince > patience) process.exit(ended)
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
