import { Effect } from "effect"
import { readdir, readFile } from "node:fs/promises"

/** MiB. */
export interface ResidentMemory {
  readonly rss: number
  /** Proportional set size: shared pages are divided among the processes that share them. */
  readonly pss: number
}

const kibibytes = (text: string, field: string) => Number(new RegExp(`^${field}:\\s+(\\d+)`, "m").exec(text)?.[1] ?? 0)

const read = (path: string) =>
  Effect.tryPromise(() => readFile(path, "utf8")).pipe(
    Effect.catchAll(() => Effect.as(Effect.logDebug(`${path} has gone`), ""))
  )

/** Sums the memory of the processes. Both figures are 0 outside Linux. */
export const readResidentMemory = (pids: ReadonlyArray<number>): Effect.Effect<ResidentMemory> =>
  Effect.map(
    Effect.forEach(pids, (pid) => read(`/proc/${pid}/smaps_rollup`)),
    (texts) => {
      const sum = (field: string) => texts.reduce((total, text) => total + kibibytes(text, field), 0) / 1024
      return { rss: sum("Rss"), pss: sum("Pss") }
    }
  )

// Times in /proc are in hundredths of a second (USER_HZ is 100).
const ticksPerSecond = 100

/** Processor time of a process in seconds; NaN outside Linux. */
export const readCpuSeconds = (pid: number): Effect.Effect<number> =>
  Effect.map(read(`/proc/${pid}/stat`), (text) => {
    const [, ...fields] = text.split(") ").at(-1)?.split(" ") ?? []
    return (Number(fields[10] ?? Number.NaN) + Number(fields[11] ?? Number.NaN)) / ticksPerSecond
  })

const runningPids = Effect.tryPromise(() => readdir("/proc")).pipe(
  Effect.map((entries) => entries.filter((entry) => /^\d+$/.test(entry)).map(Number)),
  Effect.orElseSucceed(() => [])
)

const parentOf = (pid: number) =>
  Effect.map(read(`/proc/${pid}/stat`), (text) => Number(text.split(") ").at(-1)?.split(" ")[1] ?? 0))

/** Running child processes. */
export const listChildren = (parent: number): Effect.Effect<ReadonlyArray<number>> =>
  Effect.flatMap(
    runningPids,
    Effect.filter((pid) => Effect.map(parentOf(pid), (found) => found === parent))
  )
