import { Effect, Option } from "effect"
import { readFileSync } from "node:fs"

interface ProcessFigures {
  /** Processor time since the start, in milliseconds. */
  readonly cpuMs: number
  readonly residentBytes: number
  readonly threads: number
}

/** Unit of times in `/proc` (USER_HZ), equal on every Linux. */
const tickMs = 10

const field = (status: string, name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+)`, "m").exec(status)?.[1])

/** Parses `/proc/<pid>/stat` and `/proc/<pid>/status`. None if malformed. */
export const parseProcessMetrics = (stat: string, status: string): Option.Option<ProcessFigures> => {
  const [user, system] = (stat.split(") ").at(-1)?.split(" ").slice(11, 13) ?? []).map(Number)
  const figures = {
    cpuMs: ((user ?? NaN) + (system ?? NaN)) * tickMs,
    residentBytes: field(status, "VmRSS") * 1024,
    threads: field(status, "Threads")
  }
  return Object.values(figures).every(Number.isFinite) ? Option.some(figures) : Option.none()
}

/** None for an ended process, and on systems without `/proc`. Synchronous, since `/proc` does not wait for a disk. */
export const readProcessMetrics = (pid: number): Effect.Effect<Option.Option<ProcessFigures>> =>
  Effect.try(() =>
    parseProcessMetrics(readFileSync(`/proc/${pid}/stat`, "utf8"), readFileSync(`/proc/${pid}/status`, "utf8"))
  ).pipe(Effect.orElseSucceed(() => Option.none()))
