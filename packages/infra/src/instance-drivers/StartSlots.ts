import { Effect } from "effect"
import { availableParallelism } from "node:os"

/**
 * Bounds concurrent starts of instances on this machine; with more of them, all would exceed the time to become ready.
 */
export const make = (): Effect.Semaphore => Effect.unsafeMakeSemaphore(Math.max(4, 2 * availableParallelism()))
