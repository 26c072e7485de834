import { type InstanceSpec, InstanceDriver } from "@berth/domain/instances/InstanceDriver"
import { RuntimeEnvironment } from "@berth/api/runtime/RuntimeContract"
import { allocatorEnvironment } from "@berth/infra/instance-drivers/NodeFlags"
import type { MonitorIntervals } from "@berth/infra/instance-drivers/process/InstanceMonitor"
import * as DockerInstanceDriver from "@berth/infra/instance-drivers/docker/DockerInstanceDriver"
import { ensureNetwork } from "@berth/infra/instance-drivers/docker/InstanceNetwork"
import * as ProcessInstanceDriver from "@berth/infra/instance-drivers/process/ProcessInstanceDriver"
import * as UnixSocketClient from "@berth/infra/runtime/UnixSocketClient"
import { HttpClient } from "@effect/platform"
import { afterAll, afterEach, describe, it } from "@effect/vitest"
import { Context, Effect, Fiber, Layer, Logger, Option, Redacted, Schedule, Schema, type Scope, Stream } from "effect"
import { existsSync, readFileSync } from "node:fs"
import { execFile } from "node:child_process"
import { mkdir, readFile, stat, writeFile } from "node:fs/promises"
import { dirname, join } from "node:path"
import { promisify } from "node:util"
import { UserId } from "@berth/domain/shared/UserId"
import * as Cluster from "./ClusterHost.ts"
import * as Kubernetes from "./KubernetesHost.ts"
import { dockerEngine } from "../../support/DockerDaemon.ts"
import { describeWithTool, type RequiredTool } from "../../support/RequiredTools.ts"
import {
  buildTestImage,
  inspectTestContainer,
  installationOf,
  logFilesOf,
  removeTestInstances,
  testEngine,
  testNetwork,
  volumePathOf
} from "./DockerHost.ts"

interface InstanceDriverOptions {
  readonly directory: string
  readonly program: string
  readonly onClose: "leave" | "stop"
  /** Default: the intervals of production. */
  readonly intervals?: Partial<MonitorIntervals>
}

/** A kind of host, with direct access to its instances. */
export interface InstanceDriverHost {
  readonly name: string
  /** The required tool, if any. */
  readonly tool?: RequiredTool
  readonly driver: (options: InstanceDriverOptions) => Effect.Effect<InstanceDriver["Type"], unknown, Scope.Scope>
  readonly processIdOf: (directory: string, owner: UserId) => Effect.Effect<number>
  readonly isRunning: (identity: number) => Effect.Effect<boolean>
  readonly kill: (identity: number) => Effect.Effect<void>
  readonly killReason: RegExp
  /** The instance's environment; none if the host does not expose it. */
  readonly environment: (identity: number) => Effect.Effect<Option.Option<ReadonlyArray<string>>>
  /** Names of the runtime's variables that the driver sets. */
  readonly runtimeVariables: ReadonlyArray<string>
  /** Names of the variables that the host itself sets. */
  readonly ownVariables: ReadonlyArray<string>
  /** Whether any of the owner's files remain. */
  readonly hasFiles: (directory: string, owner: UserId) => Effect.Effect<boolean>
  /** Writes a file of the instance, by its path in the instance's directory. */
  readonly writeFile: (directory: string, owner: UserId, path: string, text: string) => Effect.Effect<void>
  readonly readFile: (directory: string, owner: UserId, path: string) => Effect.Effect<Option.Option<string>>
  /** The instance's directory on this machine; none if only the host's API is accessible. */
  readonly home: Option.Option<(directory: string, owner: UserId) => string>
  /** Makes the instance the owner of files that a test wrote into its directory. */
  readonly giveFiles: (home: string) => Promise<void>
  /** Whether instances can run a program of a test instead of the image's. */
  readonly runsPrograms: boolean
  readonly separatesAccounts: boolean
  readonly reportsStats: boolean
  readonly reportsNetwork: boolean
  /** Whether the host reports an instance's processes and threads. */
  readonly reportsProcesses: boolean
  /** Whether the log warns of an instance near its memory limit. */
  readonly warnsOfMemory: boolean
  /** The reported reason when an instance exceeds its memory limit. */
  readonly memoryReason: RegExp
  /** Whether an instance that fills its disk is ended; else the volume has a fixed size. */
  readonly endsDiskFloods: boolean
  /** Whether an instance that floods its log is ended; else its log rotates. */
  readonly endsLogFloods: boolean
  readonly maximumLogBytes: number
  readonly logFiles: (directory: string, owner: UserId) => Promise<ReadonlyArray<string>>
}

const decodeRecord = Schema.decodeUnknownPromise(Schema.parseJson(Schema.Struct({ pid: Schema.Int })))

const runs = (pid: number): Effect.Effect<boolean> =>
  Effect.sync(() => {
    try {
      // An exited container has process 0.
      return pid > 0 && process.kill(pid, 0)
    } catch {
      return false
    }
  })

const killProcess = (pid: number): Effect.Effect<void> => Effect.sync(() => process.kill(pid, "SIGKILL"))

/** Root of a user namespace with a single account cannot change owners. */
const mapsManyAccounts = (): boolean =>
  !existsSync("/proc/self/uid_map") || /\s\d{6,}\s*$/m.test(readFileSync("/proc/self/uid_map", "utf8"))

const commonVariables = [
  RuntimeEnvironment.backendUrl,
  RuntimeEnvironment.directory,
  RuntimeEnvironment.memoryMb,
  RuntimeEnvironment.diskMb
]

const readEnvironment = (pid: number) =>
  Effect.promise(() =>
    readFile(`/proc/${pid}/environ`, "utf8").then(
      (text) => Option.some(text.split("\0").filter((line) => line !== "")),
      () => Option.none()
    )
  )

const giveFiles = async (home: string) => {
  const { gid, uid } = await stat(home)
  await promisify(execFile)("chown", ["-Rh", `${uid}:${gid}`, home])
}

const localFiles = (
  all: (directory: string, owner: UserId) => string,
  home: (directory: string, owner: UserId) => string,
  give: (home: string) => Promise<void>
) => ({
  home: Option.some(home),
  giveFiles: give,
  hasFiles: (directory: string, owner: UserId) => Effect.sync(() => existsSync(all(directory, owner))),
  writeFile: (directory: string, owner: UserId, path: string, text: string) =>
    Effect.promise(async () => {
      const file = join(home(directory, owner), path)
      await mkdir(dirname(file), { recursive: true })
      await writeFile(file, text)
      await give(home(directory, owner))
    }),
  readFile: (directory: string, owner: UserId, path: string) =>
    Effect.option(Effect.tryPromise(() => readFile(join(home(directory, owner), path), "utf8")))
})

export const processHost: InstanceDriverHost = {
  name: "process",
  driver: ({ directory, intervals, onClose, program }) =>
    ProcessInstanceDriver.layer({ directory, bundle: program, onClose, intervals: intervals ?? {} }).pipe(
      Layer.provide(UnixSocketClient.layer),
      Layer.build,
      Effect.map(Context.get(InstanceDriver))
    ),
  processIdOf: (directory, owner) =>
    Effect.promise(async () => {
      const { pid } = await decodeRecord(await readFile(join(directory, owner, "record.json"), "utf8"))
      return pid
    }),
  isRunning: runs,
  kill: killProcess,
  killReason: /SIGKILL/,
  environment: readEnvironment,
  runtimeVariables: [...commonVariables, RuntimeEnvironment.token, RuntimeEnvironment.socket],
  ownVariables: Object.keys(allocatorEnvironment),
  ...localFiles(
    (directory, owner) => join(directory, owner),
    (directory, owner) => join(directory, owner, "home"),
    giveFiles
  ),
  runsPrograms: true,
  separatesAccounts: process.getuid?.() === 0 && mapsManyAccounts(),
  reportsStats: existsSync("/proc/self/status"),
  reportsNetwork: false,
  reportsProcesses: existsSync("/proc/self/status"),
  warnsOfMemory: true,
  memoryReason: /it holds \d+ MB, more than the 64 MB it may/,
  endsDiskFloods: true,
  endsLogFloods: true,
  maximumLogBytes: 64 * 1024 * 1024,
  logFiles: async (directory, owner) => [join(directory, owner, "instance.log")]
}

export const dockerDriver = (
  { directory, intervals, onClose, program }: InstanceDriverOptions,
  network: string,
  requiredEngine = testEngine
) =>
  Effect.gen(function* () {
    const engine = yield* requiredEngine
    return yield* DockerInstanceDriver.make({
      engine,
      installation: installationOf(directory),
      network: (yield* ensureNetwork(engine, network)).name,
      image: yield* Effect.promise(() => buildTestImage(program)),
      directory,
      onClose,
      ...(intervals === undefined ? {} : { intervals })
    })
  }).pipe(Effect.provide(UnixSocketClient.layer))

/** Containers of an engine on this machine, whose volumes and processes are accessible. */
const docker: InstanceDriverHost = {
  name: "Docker",
  tool: dockerEngine,
  driver: (options) => dockerDriver(options, testNetwork),
  processIdOf: (directory, owner) => Effect.map(inspectTestContainer(directory, owner), ({ State }) => State.Pid),
  isRunning: runs,
  kill: killProcess,
  killReason: /SIGKILL/,
  environment: readEnvironment,
  runtimeVariables: [...commonVariables, RuntimeEnvironment.tokenFile, RuntimeEnvironment.port],
  ownVariables: [...Object.keys(allocatorEnvironment), "PATH", "NODE_VERSION", "HOSTNAME", "HOME"],
  ...localFiles(
    (directory, owner) => dirname(volumePathOf(directory, owner)),
    (directory, owner) => join(volumePathOf(directory, owner), "home"),
    giveFiles
  ),
  runsPrograms: true,
  separatesAccounts: false,
  reportsStats: true,
  reportsNetwork: true,
  reportsProcesses: true,
  warnsOfMemory: true,
  memoryReason: /it needed more than the 64 MB of memory it may hold, and the kernel killed it \(exit code 137\)/,
  endsDiskFloods: true,
  endsLogFloods: false,
  // Two files of two megabytes, and a line of the one that rotates.
  maximumLogBytes: 5 * 1024 * 1024,
  logFiles: logFilesOf
}

/** Pods of a fake cluster, whose node runs them as processes of this machine. */
const kubernetes: InstanceDriverHost = {
  name: "Kubernetes",
  driver: Kubernetes.kubernetesDriver,
  processIdOf: Kubernetes.findPodPid,
  isRunning: runs,
  kill: killProcess,
  killReason: /SIGKILL/,
  environment: readEnvironment,
  runtimeVariables: [...commonVariables, RuntimeEnvironment.token, RuntimeEnvironment.port],
  ownVariables: [
    ...Object.keys(allocatorEnvironment),
    "PATH",
    "NODE_VERSION",
    "HOSTNAME",
    "KUBERNETES_SERVICE_HOST",
    "KUBERNETES_SERVICE_PORT"
  ],
  ...localFiles(
    Kubernetes.volumePathOf,
    (directory, owner) => join(Kubernetes.volumePathOf(directory, owner), "home"),
    () => Promise.resolve()
  ),
  runsPrograms: true,
  separatesAccounts: false,
  reportsStats: existsSync("/proc/self/status"),
  reportsNetwork: false,
  reportsProcesses: false,
  warnsOfMemory: true,
  memoryReason: docker.memoryReason,
  endsDiskFloods: false,
  endsLogFloods: false,
  maximumLogBytes: docker.maximumLogBytes,
  logFiles: Kubernetes.logFilesOf
}

/** Pods of the cluster of a kubeconfig, accessed only through its API. */
const cluster: InstanceDriverHost = {
  ...kubernetes,
  name: `${Cluster.isReal ? "real" : "fake"} Kubernetes cluster`,
  driver: Cluster.clusterDriver,
  processIdOf: Cluster.findRun,
  isRunning: Cluster.isRunning,
  kill: Cluster.deletePod,
  killReason: /^the cluster (is removing|removed) its pod$/,
  environment: () => Effect.succeedNone,
  hasFiles: Cluster.hasClaim,
  writeFile: Cluster.writeFile,
  readFile: Cluster.readFile,
  home: Option.none(),
  runsPrograms: !Cluster.isReal,
  reportsStats: !Cluster.isReal && kubernetes.reportsStats
}

export const ada = UserId.make("usr_ada")
export const bob = UserId.make("usr_bob")

export const makeInstanceSpec = (owner: UserId, changes: Partial<InstanceSpec> = {}): InstanceSpec => ({
  owner,
  memoryMb: 256,
  cpus: 2,
  diskMb: 256,
  token: Redacted.make(`token of ${owner}`),
  backendUrl: "http://127.0.0.1:1",
  ...changes
})

/** The status of the runtime's health response. */
export const checkHealth = (endpoint: string, token: string) =>
  HttpClient.get(`${endpoint}/health`, { headers: { authorization: `Bearer ${token}` } }).pipe(
    Effect.map(({ status }) => status),
    Effect.provide(UnixSocketClient.layer)
  )

export const waitUntil = (condition: () => boolean) =>
  Effect.sync(condition).pipe(
    Effect.repeat({ until: (met) => met, schedule: Schedule.spaced("20 millis") }),
    Effect.timeout("60 seconds"),
    Effect.asVoid
  )

export const waitUntilEffect = <E>(condition: Effect.Effect<boolean, E>) =>
  condition.pipe(
    Effect.repeat({ until: (met) => met, schedule: Schedule.spaced("20 millis") }),
    Effect.timeout("60 seconds"),
    Effect.asVoid
  )

export const awaitFirstExit = (driver: InstanceDriver["Type"]) =>
  Effect.gen(function* () {
    const fiber = yield* Effect.fork(Stream.runHead(driver.exits))
    // Exits are reported from the subscription on: let the fiber subscribe first.
    yield* Effect.yieldNow()
    yield* Effect.yieldNow()
    return Fiber.join(fiber).pipe(
      Effect.map(Option.getOrThrow),
      Effect.timeoutFail({ duration: "60 seconds", onTimeout: () => "no exit was told" as const })
    )
  })

/** Runs with the live clock, a scope, and no log between the results. */
export const testDriver = <E>(
  name: string,
  body: () => Effect.Effect<void, E, Scope.Scope>,
  options: { readonly concurrent?: boolean } = {}
) => it.scopedLive(name, () => Effect.provide(body(), Logger.remove(Logger.defaultLogger)), options)

/** A test that requires file access or a separate program, if the host permits them. */
export const testDriverIf = (isPossible: boolean, ...[name, ...rest]: Parameters<typeof testDriver>) =>
  isPossible ? testDriver(name, ...rest) : it.skip(`${name} (skipped: not by the API of a cluster with one image)`)

const instanceDriverHosts: ReadonlyArray<InstanceDriverHost> = Cluster.isSelected
  ? [cluster]
  : [processHost, docker, kubernetes]

/** Runs one spec on all kinds of hosts; skips those without their tool. */
export const describeDrivers = (title: string, tests: (host: InstanceDriverHost) => void): void => {
  for (const host of instanceDriverHosts) {
    const name = `${title}: ${host.name}`
    if (host.tool === undefined)
      describe(name, () => {
        if (host === cluster) afterEach(() => Cluster.removeInstances([ada, bob]))
        afterAll(Kubernetes.closeTestCluster)
        tests(host)
      })
    else
      describeWithTool(host.tool, name, () => {
        afterAll(removeTestInstances)
        tests(host)
      })
  }
}
