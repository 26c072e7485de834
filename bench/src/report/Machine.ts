import { Effect } from "effect"
import { availableParallelism, cpus, loadavg, totalmem } from "node:os"

/** Where figures come from: without it they cannot be compared. */
export interface Machine {
  readonly cpu: string
  readonly cores: number
  /** Fewer than there are when the run was started on some of them, as `taskset` does: children inherit it. */
  readonly usableCores: number
  readonly memoryMb: number
  readonly node: string
  readonly platform: string
  /** Runnable processes over the last minute, before the run. Much more than 0 and the figures are somebody else's too. */
  readonly loadBefore: number
}

export const describeMachine: Effect.Effect<Machine> = Effect.sync(() => ({
  cpu: cpus()[0]?.model ?? "unknown",
  cores: cpus().length,
  usableCores: availableParallelism(),
  memoryMb: Math.round(totalmem() / 1024 / 1024),
  node: process.version,
  platform: `${process.platform} ${process.arch}`,
  loadBefore: loadavg()[0] ?? 0
}))
