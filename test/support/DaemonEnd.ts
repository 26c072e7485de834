import { isProcessAlive } from "@berth/infra/process/ProcessIdentity"
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"

export const daemonPidFile = (directory: string) => join(directory, "docker.pid")

const pidOf = (directory: string) =>
  existsSync(daemonPidFile(directory)) ? Number(readFileSync(daemonPidFile(directory), "utf8")) : undefined

/** Ends the daemon of a directory with its containers. A daemon that is killed would leave mounts. */
export const stopDaemon = (directory: string): void => {
  const pid = pidOf(directory)
  if (pid === undefined || !isProcessAlive(pid)) return
  if (!readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(directory)) return
  process.kill(pid, "SIGTERM")
  const pause = new Int32Array(new SharedArrayBuffer(4))
  for (let tries = 0; tries < 200 && isProcessAlive(pid); tries++) Atomics.wait(pause, 0, 0, 100)
}
