import { Effect } from "effect"
import { readdir, readFile } from "node:fs/promises"

/** MiB. */
export interface ResidentMemory {
  readonly rss: number
  /** What processes share is counted once, in equal parts. */
  readonly pss: number
}

const kibibytes = (text: string, field: string) => Number(new RegExp(`^${field}:\\s+(\\d+)`, "m").exec(text)?.[1] ?? 0)

const read = (path: string) =>
  Effect.tryPromise(() => readFile(path, "utf8")).pipe(
    Effect.catchAll(() => Effect.as(Effect.logDebug(`${path} has gone`), ""))
  )

/** What processes hold in memory together. Needs Linux; elsewhere nothing is known and both are 0. */
export const readResidentMemory = (pids: ReadonlyArray<number>): Effect.Effect<ResidentMemory> =>
  Effect.map(
    Effect.forEach(pids, (pid) => read(`/proc/${pid}/smaps_rollup`)),
    (texts) => {
      const sum = (field: string) => texts.reduce((total, text) => total + kibibytes(text, field), 0) / 1024
      return { rss: sum("Rss"), pss: sum("Pss") }
    }
  )

// The unit of /proc's times is a hundredth of a second on every Linux that Node runs on.
const ticksPerSecond = 100

/** Processor time that a process has used so far, in seconds; NaN where the system does not tell. */
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

/** Processes that a process has started, as far as they run. */
export const listChildren = (parent: number): Effect.Effect<ReadonlyArray<number>> =>
  Effect.flatMap(
    runningPids,
    Effect.filter((pid) => Effect.map(parentOf(pid), (found) => found === parent))
  )
