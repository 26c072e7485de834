import { type EngineAddress, parseEngineAddress } from "@berth/infra/instance-drivers/docker/EngineAddress"
import { Either } from "effect"
import { spawn, spawnSync } from "node:child_process"
import { createHash } from "node:crypto"
import { existsSync, mkdirSync, openSync, readFileSync, writeFileSync } from "node:fs"
import { mkdir } from "node:fs/promises"
import { connect } from "node:net"
import { join } from "node:path"
import { setTimeout } from "node:timers/promises"
import { inject } from "vitest"
import { daemonPidFile } from "./DaemonEnd.ts"
import type { RequiredTool } from "./RequiredTools.ts"

const configuredHost = (process.env["DOCKER_HOST"] ?? "").trim()

const runs = (command: string) => spawnSync(command, ["--version"]).status === 0
const canStart = () => process.getuid?.() === 0 && ["docker", "dockerd", "iptables"].every(runs)

/** The engine of DOCKER_HOST, or one started for this run, which requires root, dockerd and iptables. */
export const dockerEngine: RequiredTool = {
  name: "Docker Engine",
  present: configuredHost !== "" || canStart(),
  missingReason: "is not set by DOCKER_HOST, and dockerd with iptables cannot be started as root"
}

/** True if a process listens on the Unix socket. */
const isListening = (path: string) =>
  new Promise<boolean>((resolve) => {
    const socket = connect(path)
    socket.once("error", () => resolve(false))
    socket.once("connect", () => {
      socket.destroy()
      resolve(true)
    })
  })

/** A subnet for this run: the engine rejects one that another engine of the machine uses. */
const subnetOf = (directory: string) => {
  const [first = 0, second = 0] = createHash("sha256").update(directory).digest()
  return `10.${64 + (first % 128)}.${second}.0/24`
}

export const testNetwork = "berth-test"

/** Starts a daemon in a directory. Returns when its socket accepts connections. */
export const startDaemon = async (directory: string, options: ReadonlyArray<string> = []): Promise<string> => {
  const socket = join(directory, "docker.sock")
  // The first of several workers starts it.
  const isFirst = await mkdir(directory).then(
    () => true,
    () => false
  )
  if (isFirst) launchDaemon(directory, options)
  const host = `unix://${socket}`
  const ready = join(directory, "ready")
  for (let tries = 0; tries < 600; tries++) {
    if (existsSync(ready)) return host
    if (isFirst && existsSync(socket) && (await isListening(socket))) writeFileSync(ready, "")
    await setTimeout(100)
  }
  throw new Error(`dockerd does not start: ${readFileSync(join(directory, "log"), "utf8").slice(-2000)}`)
}

/** Starts dockerd, also after it was killed. */
export const launchDaemon = (directory: string, options: ReadonlyArray<string> = []): void => {
  const log = openSync(join(directory, "log"), "a")
  mkdirSync(join(directory, "data"), { recursive: true })
  spawn(
    "dockerd",
    [
      "--data-root",
      join(directory, "data"),
      "--exec-root",
      join(directory, "exec"),
      "--host",
      `unix://${join(directory, "docker.sock")}`,
      "--pidfile",
      daemonPidFile(directory),
      "--storage-driver",
      "overlay2",
      "--bridge",
      "none",
      "--default-address-pool",
      `base=${subnetOf(directory)},size=28`,
      ...options
    ],
    { detached: true, stdio: ["ignore", log, log] }
  ).unref()
}

/** The engine's address; the first call of a run starts it. */
export const dockerHost = async (): Promise<string> =>
  configuredHost === "" ? startDaemon(inject("dockerDirectory")) : configuredHost

export const dockerAddress = async (): Promise<EngineAddress> =>
  Either.getOrThrow(parseEngineAddress(await dockerHost(), null))
