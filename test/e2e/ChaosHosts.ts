import type { UserId } from "@berth/domain/shared/UserId"
import { ensureNetwork } from "@berth/infra/instance-drivers/docker/InstanceNetwork"
import * as DockerEngine from "@berth/infra/instance-drivers/docker/DockerEngine"
import { EngineAddress } from "@berth/infra/instance-drivers/docker/EngineAddress"
import { isProcessAlive } from "@berth/infra/process/ProcessIdentity"
import { Effect, Schedule } from "effect"
import { execFileSync } from "node:child_process"
import { readFileSync, rmSync } from "node:fs"
import { chown, mkdir, readdir, readFile, stat } from "node:fs/promises"
import { dirname, join } from "node:path"
import { buildImage, reopenHostPorts } from "../adapters/instance-drivers/DockerHost.ts"
import { daemonPidFile, stopDaemon } from "../support/DaemonEnd.ts"
import { launchDaemon, startDaemon } from "../support/DockerDaemon.ts"
import { temporaryDirectory } from "../support/TemporaryDirectories.ts"
import { type Berth, root } from "./BerthProcess.ts"
import type { ChaosVictim } from "./ChaosScenario.ts"
import { listRuntimeProcesses } from "./RuntimeProcesses.ts"

/** The counted objects of instances on a host. */
interface ChaosLeftovers {
  readonly running: number
  /** Owners with a directory on the host. */
  readonly owners: number
  /** Containers other than instances, such as tasks and candidates. */
  readonly strays?: number
  readonly volumes?: number
  readonly networks?: number
}

/** A kind of host, accessed directly by chaos tests. */
export interface ChaosHost {
  readonly name: "process" | "docker"
  readonly environment: Readonly<Record<string, string>>
  readonly countRunning: (userId: UserId) => Effect.Effect<number>
  readonly killInstance: (berth: Berth, userId: UserId) => Effect.Effect<void>
  readonly victims: ReadonlyArray<ChaosVictim>
  /** Kills the engine and starts another. */
  readonly killEngine: Effect.Effect<void>
  readonly countLeftovers: (dataDirectory: string) => Effect.Effect<ChaosLeftovers>
  /** The instance's directory. */
  readonly findHome: (berth: Berth, userId: UserId) => Effect.Effect<string>
  /** Makes the directory of a file with its parent's owner. */
  readonly prepareDirectory: (file: string) => Effect.Effect<void>
  readonly readFile: (path: string) => Effect.Effect<string>
}

const kill = (pid: number) => Effect.ignore(Effect.try(() => pid > 0 && process.kill(pid, "SIGKILL")))

const listOwnerDirectories = (dataDirectory: string) =>
  Effect.promise(() =>
    readdir(join(dataDirectory, "instances")).then(
      (names) => names.filter((name) => name.startsWith("usr_")),
      (): ReadonlyArray<string> => []
    )
  )

const files = {
  prepareDirectory: (file: string) =>
    Effect.promise(async () => {
      const home = dirname(dirname(dirname(file)))
      const { gid, uid } = await stat(home)
      await mkdir(dirname(file), { recursive: true })
      for (const path of [dirname(dirname(file)), dirname(file)]) await chown(path, uid, gid)
    }),
  readFile: (path: string) => Effect.promise(() => readFile(path, "utf8"))
}

/** The running processes whose environment names the directory. */
const countInstanceProcesses = (dataDirectory: string) =>
  Effect.promise(async () => {
    const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name))
    const environments = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/environ`, "utf8").catch(() => "")))
    return environments.filter((text) => text.includes(`${join(dataDirectory, "instances")}/usr_`)).length
  })

export const processHost: ChaosHost = {
  ...files,
  name: "process",
  victims: ["instance", "server", "worker"],
  environment: {},
  countRunning: (userId) => Effect.map(listRuntimeProcesses(userId), ({ length }) => length),
  killInstance: (_berth, userId) =>
    Effect.flatMap(listRuntimeProcesses(userId), Effect.forEach(kill, { discard: true })),
  killEngine: Effect.void,
  countLeftovers: (dataDirectory) =>
    Effect.all({
      running: countInstanceProcesses(dataDirectory),
      owners: Effect.map(listOwnerDirectories(dataDirectory), ({ length }) => length)
    }),
  findHome: ({ place }, userId) => Effect.succeed(join(place.dataDirectory, "instances", userId, "home"))
}

const network = "berth-chaos"

/** A separate Docker Engine, which can be killed. */
export const openDockerHost = Effect.gen(function* () {
  const directory = join(yield* temporaryDirectory, "docker")
  yield* Effect.addFinalizer(() => Effect.sync(() => stopDaemon(directory)))
  const host = yield* Effect.promise(() => startDaemon(directory))
  const image = yield* Effect.promise(() => buildImage(join(root, "dist", "runtime", "runtime.mjs"), host))
  const engine = yield* DockerEngine.make(EngineAddress.Socket({ path: join(directory, "docker.sock") }))
  const { bridge } = yield* ensureNetwork(engine, network)
  yield* Effect.addFinalizer(() => Effect.sync(() => reopenHostPorts(bridge)))
  const docker = (...args: ReadonlyArray<string>) =>
    Effect.try(() =>
      execFileSync("docker", args, { encoding: "utf8", stdio: "pipe", env: { ...process.env, DOCKER_HOST: host } })
        .split("\n")
        .filter((line) => line !== "")
    )
  const count = (...args: ReadonlyArray<string>) => Effect.map(docker(...args), ({ length }) => length)
  const answer = <A>(call: Effect.Effect<A, unknown>) =>
    Effect.orDie(Effect.retry(call, { schedule: Schedule.spaced("200 millis"), times: 300 }))

  const killEngine = Effect.gen(function* () {
    const pid = Number(readFileSync(daemonPidFile(directory), "utf8"))
    yield* kill(pid)
    yield* Effect.repeat(
      Effect.sync(() => isProcessAlive(pid)),
      { while: (alive) => alive, schedule: Schedule.spaced("20 millis") }
    )
    // The killed daemon's containerd has ended; the next daemon would wait for the one that this file names.
    rmSync(join(directory, "exec", "containerd", "containerd.pid"), { force: true })
    launchDaemon(directory)
    yield* answer(engine.info)
  })

  return {
    ...files,
    name: "docker",
    victims: ["instance", "server", "worker", "engine"],
    environment: { AGENT_RUNTIME: "docker", DOCKER_HOST: host, DOCKER_NETWORK: network, RUNTIME_IMAGE: image },
    countRunning: (userId) => answer(count("ps", "--quiet", "--filter", `name=${userId}`)),
    killInstance: (_berth, userId) =>
      answer(docker("ps", "--quiet", "--filter", `name=${userId}`)).pipe(
        Effect.flatMap(Effect.forEach((id) => Effect.ignore(docker("kill", id)), { discard: true }))
      ),
    killEngine,
    countLeftovers: (dataDirectory) =>
      Effect.all({
        running: answer(count("ps", "--quiet")),
        owners: Effect.map(listOwnerDirectories(dataDirectory), ({ length }) => length),
        strays: answer(docker("ps", "--all", "--format", "{{.Names}}")).pipe(
          Effect.map((names) => names.filter((name) => /\.(next|task)$/.test(name)).length)
        ),
        volumes: answer(count("volume", "ls", "--quiet")),
        networks: answer(count("network", "ls", "--quiet"))
      }),
    findHome: (_berth, userId) =>
      answer(docker("volume", "ls", "--quiet", "--filter", `name=${userId}`)).pipe(
        Effect.map(([volume = ""]) => join(directory, "data", "volumes", volume, "_data", "home"))
      )
  } satisfies ChaosHost
})
