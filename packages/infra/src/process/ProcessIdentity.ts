import { spawnSync } from "node:child_process"
import { readFileSync } from "node:fs"

const acceptsSignals = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch (cause) {
    return cause instanceof Error && "code" in cause && cause.code === "EPERM"
  }
}

/** The fields of `/proc/<pid>/stat` after the name, which may itself hold blanks; none where there is no such file. */
const status = (pid: number): ReadonlyArray<string> => {
  try {
    return readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)?.split(" ") ?? []
  } catch {
    return []
  }
}

/** A process that has ended but that its parent has not yet collected runs no more. */
export const isProcessAlive = (pid: number): boolean => acceptsSignals(pid) && status(pid)[0] !== "Z"

/**
 * When a process began, in words that only this process can have. Process numbers are used again, so a number that was
 * written down is only worth something together with its birth. Empty when there is no such process.
 */
export const readProcessBirth = (pid: number): string =>
  process.platform === "linux"
    ? (status(pid)[19] ?? "")
    : spawnSync("ps", ["-o", "lstart=", "-p", String(pid)], { encoding: "utf8" })
        .stdout.trim()
        .replaceAll(" ", "_")
