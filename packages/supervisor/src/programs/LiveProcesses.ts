import { isProcessAlive } from "@berth/infra/process/ProcessIdentity"
import { Context, Effect, Layer } from "effect"

/**
 * The processes that would be left behind if this one ended now. Kept outside of any fiber, because it is read when
 * there is no time left for fibers.
 */
export class LiveProcesses extends Context.Tag("@berth/supervisor/LiveProcesses")<
  LiveProcesses,
  {
    /** `end` is the signal that ends this process at once. */
    readonly add: (pid: number, end: NodeJS.Signals) => Effect.Effect<void>
    readonly remove: (pid: number) => Effect.Effect<void>
    readonly endAll: () => void
    /** Whether one of them still lives; a killed process takes a moment to die. */
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
          // It ended by itself in this very moment.
        }
      }
    }
  }
})
