import { Option, Predicate } from "effect"
import { spawnSync } from "node:child_process"
import { readFileSync } from "node:fs"

const acceptsSignals = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch (cause) {
    return Predicate.hasProperty(cause, "code") && cause.code === "EPERM"
  }
}

const readProcFile = (path: string): string => {
  try {
    return readFileSync(path, "utf8")
  } catch {
    return ""
  }
}

/** The fields of `/proc/<pid>/stat` after the command, which may contain blanks and parentheses. */
const readStatFields = (pid: number): ReadonlyArray<string> =>
  readProcFile(`/proc/${pid}/stat`).split(") ").at(-1)?.split(" ") ?? []

const runPs = (pid: number, column: string): string =>
  spawnSync("ps", ["-ww", "-o", `${column}=`, "-p", String(pid)], {
    encoding: "utf8",
    env: { LC_ALL: "C", PATH: process.env["PATH"] }
  }).stdout.trim()

/** Whether the process runs. A zombie does not. */
export const isProcessAlive = (pid: number): boolean => pid > 0 && acceptsSignals(pid) && readStatFields(pid)[0] !== "Z"

/** The start time of a process, which distinguishes it from a later process with the same pid. Empty when it is gone. */
export const readProcessBirth = (pid: number): string =>
  process.platform === "linux" ? (readStatFields(pid)[19] ?? "") : runPs(pid, "lstart").replaceAll(" ", "_")

/** The start time with the boot it belongs to: unique across restarts of the host. None when the process is gone. */
export const readStartMark = (pid: number): Option.Option<string> =>
  Option.map(
    Option.liftPredicate(readProcessBirth(pid), (birth) => birth !== ""),
    (birth) => `${readProcFile("/proc/sys/kernel/random/boot_id").trim()} ${birth}`.trim()
  )

/** The parts of a process's command line; empty when it cannot be read. */
export const readCommandLine = (pid: number): ReadonlyArray<string> =>
  process.platform === "linux" ? readProcFile(`/proc/${pid}/cmdline`).split("\0") : runPs(pid, "command").split(" ")

/** How a recorded process number relates to the process that has the number now. */
export type ProcessMatch =
  | "same"
  /** No process has the number. */
  | "gone"
  /** Another process has the number. */
  | "different"
  /** Unknown on this system. */
  | "unknown"

export const matchProcess = (pid: number, startMark: Option.Option<string>): ProcessMatch => {
  if (!isProcessAlive(pid)) return "gone"
  const same = Option.zipWith(startMark, readStartMark(pid), (recorded, current) => recorded === current)
  return Option.match(same, { onNone: () => "unknown", onSome: (it) => (it ? "same" : "different") })
}

/** False when no process could receive it. */
export const sendSignal = (pid: number, name: NodeJS.Signals): boolean => {
  try {
    return process.kill(pid, name)
  } catch {
    return false
  }
}
