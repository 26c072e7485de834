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

/** Returns the fields of `/proc/<pid>/stat` after the command, which may contain blanks and parentheses. */
const readStatFields = (pid: number): ReadonlyArray<string> =>
  readProcFile(`/proc/${pid}/stat`).split(") ").at(-1)?.split(" ") ?? []

const runPs = (pid: number, column: string): string =>
  spawnSync("ps", ["-ww", "-o", `${column}=`, "-p", String(pid)], {
    encoding: "utf8",
    env: { LC_ALL: "C", PATH: process.env["PATH"] }
  }).stdout.trim()

/** Whether the process runs; false for a zombie. */
export const isProcessAlive = (pid: number): boolean => pid > 0 && acceptsSignals(pid) && readStatFields(pid)[0] !== "Z"

/**
 * Returns the start time of a process, which distinguishes it from a later process with the same pid. Empty for an
 * ended process.
 */
export const readStartTime = (pid: number): string =>
  process.platform === "linux" ? (readStatFields(pid)[19] ?? "") : runPs(pid, "lstart").replaceAll(" ", "_")

/** Returns the start time with the id of the boot: unique across restarts of the host. None for an ended process. */
export const readStartMark = (pid: number): Option.Option<string> =>
  Option.map(
    Option.liftPredicate(readStartTime(pid), (startTime) => startTime !== ""),
    (startTime) => `${readProcFile("/proc/sys/kernel/random/boot_id").trim()} ${startTime}`.trim()
  )

/** Returns the arguments of a process's command line; empty if unreadable. */
export const readCommandLine = (pid: number): ReadonlyArray<string> =>
  process.platform === "linux" ? readProcFile(`/proc/${pid}/cmdline`).split("\0") : runPs(pid, "command").split(" ")

/** Relation of a recorded process to the current process with its pid. */
export type ProcessMatch =
  | "same"
  /** No process has the pid. */
  | "gone"
  /** Another process has the pid. */
  | "different"
  /** Unknown on this system. */
  | "unknown"

export const matchProcess = (pid: number, startMark: Option.Option<string>): ProcessMatch => {
  if (!isProcessAlive(pid)) return "gone"
  const isSame = Option.zipWith(startMark, readStartMark(pid), (recorded, current) => recorded === current)
  return Option.match(isSame, { onNone: () => "unknown", onSome: (it) => (it ? "same" : "different") })
}

/** False if no process can receive the signal. */
export const sendSignal = (pid: number, name: NodeJS.Signals): boolean => {
  try {
    return process.kill(pid, name)
  } catch {
    return false
  }
}
