import { Effect } from "effect"
import { availableParallelism, cpus, loadavg, totalmem } from "node:os"

/** The machine of a run. Figures of different machines are not comparable. */
export interface Machine {
  readonly cpu: string
  readonly cores: number
  /** Processors that this process may use; fewer than exist under `taskset`. */
  readonly usableCores: number
  readonly memoryMb: number
  readonly node: string
  readonly platform: string
  /** Load average of the minute before the run. Above 0, other processes distort the figures. */
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
