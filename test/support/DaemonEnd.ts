import { isProcessAlive } from "@berth/infra/process/ProcessIdentity"
import { spawnSync } from "node:child_process"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"

export const daemonPidFile = (directory: string) => join(directory, "docker.pid")

const readText = (path: string): string => {
  try {
    return readFileSync(path, "utf8")
  } catch {
    return ""
  }
}

/** Processes with this text in their command line. */
const findProcesses = (text: string): ReadonlyArray<number> =>
  readdirSync("/proc")
    .map(Number)
    .filter((pid) => Number.isInteger(pid) && pid !== process.pid && readText(`/proc/${pid}/cmdline`).includes(text))

const listChildren = (pid: number): ReadonlyArray<number> =>
  readText(`/proc/${pid}/task/${pid}/children`).split(" ").filter(Boolean).map(Number)

const kill = (pid: number) => {
  if (isProcessAlive(pid)) process.kill(pid, "SIGKILL")
}

/** Ends the daemon's containers and removes its networks, which would leave interfaces and firewall rules. */
const emptyDaemon = (directory: string) => {
  const docker = (...args: ReadonlyArray<string>) =>
    spawnSync("docker", ["--host", `unix://${join(directory, "docker.sock")}`, ...args], {
      encoding: "utf8",
      timeout: 30_000
    }).stdout.split("\n")
  const containers = docker("ps", "--all", "--quiet").filter(Boolean)
  if (containers.length > 0) docker("rm", "--force", ...containers)
  docker("network", "prune", "--force")
}

/** Ends the processes that a killed daemon left, and its mounts, which block the deletion. */
const endRemains = (directory: string) => {
  for (const helper of findProcesses(directory)) {
    for (const pid of listChildren(helper)) kill(pid)
    kill(helper)
  }
  const mounts = readText("/proc/mounts")
    .split("\n")
    .map((line) => line.split(" ")[1] ?? "")
    .filter((path) => path.startsWith(`${directory}/`))
  for (const path of mounts.toSorted().toReversed()) spawnSync("umount", ["--lazy", path])
}

export const stopDaemon = (directory: string): void => {
  if (!existsSync(directory)) return
  const pid = Number(readText(daemonPidFile(directory)))
  if (pid > 0 && isProcessAlive(pid) && readText(`/proc/${pid}/cmdline`).includes(directory)) {
    emptyDaemon(directory)
    process.kill(pid, "SIGTERM")
    const pause = new Int32Array(new SharedArrayBuffer(4))
    for (let tries = 0; tries < 200 && isProcessAlive(pid); tries++) Atomics.wait(pause, 0, 0, 100)
  }
  endRemains(directory)
}
