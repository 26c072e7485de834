import { Effect } from "effect"
import { availableParallelism } from "node:os"

/** Bounds the instances that start at the same time on this machine: more of them would all miss the time to become ready. */
export const make = (): Effect.Semaphore => Effect.unsafeMakeSemaphore(Math.max(4, 2 * availableParallelism()))
