import { isProcessAlive } from "@berth/infra/process/ProcessIdentity"
import { Context, Effect, Layer } from "effect"

/** Current child processes, in plain memory for signal handlers. */
export class LiveProcesses extends Context.Tag("@berth/supervisor/LiveProcesses")<
  LiveProcesses,
  {
    /** `end`: signal for an immediate end. */
    readonly add: (pid: number, end: NodeJS.Signals) => Effect.Effect<void>
    readonly remove: (pid: number) => Effect.Effect<void>
    readonly endAll: () => void
    readonly hasRunning: () => boolean
  }
>() {}

export const layer = Layer.sync(LiveProcesses, () => {
  const live = new Map<number, NodeJS.Signals>()
  return {
    hasRunning: () => [...live.keys()].some(isProcessAlive),
    add: (pid, end) => Effect.sync(() => void live.set(pid, end)),
    remove: (pid) => Effect.sync(() => void live.delete(pid)),
    endAll: () => {
      for (const [pid, end] of live) {
        try {
          process.kill(pid, end)
        } catch {
          // The process has exited.
        }
      }
    }
  }
})
