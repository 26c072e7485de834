import { InstanceDriver } from "@berth/domain/instances/InstanceDriver"
import { UserId } from "@berth/domain/shared/UserId"
import * as HttpClient from "@effect/platform/HttpClient"
import { Effect, Layer, Option } from "effect"
import { existsSync } from "node:fs"
import { readdir, rmdir } from "node:fs/promises"
import * as RuntimeClient from "../../runtime/RuntimeClient.ts"
import { removeOtherAgents } from "./AgentFileRemoval.ts"
import { type FileOperationFailed, tryFileOperation } from "../HostFiles.ts"
import * as InstanceAccounts from "./InstanceAccounts.ts"
import { type InstanceDirectory, resolveInstanceDirectory, resolveSocketRoot } from "./InstanceDirectory.ts"
import * as InstanceMonitor from "./InstanceMonitor.ts"
import { probeInstance } from "./InstanceProbe.ts"
import { type BundleUnreadable, type InstanceAccountsUnavailable, prepareInstanceRoot } from "./InstanceRoot.ts"
import * as InstanceLogFile from "../InstanceLogFile.ts"
import { detectPermissionFlags } from "../NodeFlags.ts"
import * as PlatformDriver from "../PlatformDriver.ts"
import * as ProcessLaunch from "./ProcessLaunch.ts"
import * as ProcessLauncher from "./ProcessLauncher.ts"
import { readProcessMetrics } from "./ProcessMetrics.ts"
import * as RunningProcesses from "./RunningProcesses.ts"
import * as RuntimeBundles from "./RuntimeBundles.ts"
import type { UidRange } from "./UidAllocation.ts"

export interface ProcessInstanceDriverOptions {
  /** One directory per owner: `DATA_DIR/instances`. */
  readonly directory: string
  /** Path of `runtime.mjs`, the entry of the newest runtime version, in a separate folder. */
  readonly bundle: string
  /** Whether the processes outlive this layer; a later backend adopts them. */
  readonly onClose: "leave" | "stop"
  /** Accounts of instances. Absent: a default range, if the host permits it. */
  readonly uids?: UidRange | undefined
  /** Whether to reject instances without separate accounts. */
  readonly requiresAccounts?: boolean
  readonly intervals?: Partial<InstanceMonitor.MonitorIntervals>
}

/**
 * Instances as child processes of this host. They outlive the backend. Isolation: separate account (if the host permits
 * it), directory and environment, and the permission model of Node.js; weaker than a container's.
 */
export const layer = (
  options: ProcessInstanceDriverOptions
): Layer.Layer<
  InstanceDriver,
  BundleUnreadable | FileOperationFailed | InstanceAccountsUnavailable,
  HttpClient.HttpClient
> => Layer.scoped(InstanceDriver, make(options))

const make = Effect.fnUntraced(function* (options: ProcessInstanceDriverOptions) {
  const node = process.execPath
  const client = RuntimeClient.make(yield* HttpClient.HttpClient)
  const root = yield* prepareInstanceRoot({
    directory: options.directory,
    bundle: options.bundle,
    node,
    uids: Option.fromNullable(options.uids),
    requiresAccounts: options.requiresAccounts === true
  })
  const bundles = RuntimeBundles.make(root.path, root.bundle)
  yield* bundles.removeUnused
  const processes = yield* RunningProcesses.make
  const launches = ProcessLaunch.make({
    bundles,
    processes,
    settings: {
      node,
      permission: detectPermissionFlags(process.allowedNodeEnvironmentFlags),
      accounts: yield* InstanceAccounts.make(root.path, root.uids),
      launcher: yield* ProcessLauncher.detect(Option.map(root.uids, ({ first }) => first)),
      client
    }
  })
  const monitor = yield* InstanceMonitor.make({
    client,
    processes,
    intervals: { ...InstanceMonitor.defaultMonitorIntervals, ...options.intervals }
  })

  const list = (select: (directory: InstanceDirectory) => boolean) =>
    tryFileOperation("listing the owners", () => readdir(root.path)).pipe(
      Effect.map((names) =>
        names
          .filter((name) => Option.exists(resolveInstanceDirectory(root.path, name), select))
          .map((name) => UserId.make(name))
      )
    )

  if (options.onClose === "stop")
    // After the stop of all instances. Not empty while another driver has instances below this root.
    yield* Effect.addFinalizer(() =>
      Effect.ignore(tryFileOperation("removing the sockets", () => rmdir(resolveSocketRoot(root.path))))
    )

  return yield* PlatformDriver.make(
    {
      unit: "directory",
      running: { ...processes, get: processes.getAlive },
      namesOf: (owner) => resolveInstanceDirectory(root.path, owner),
      ...launches,
      removeAll: () => Effect.void,
      removeOtherAgents,
      listOwners: list(() => true),
      // A stop removes both files.
      listRunning: list(({ address, record }) => existsSync(record) || existsSync(address)),
      find: (directory) =>
        Effect.flatMap(probeInstance(client, directory, Option.none()), (probe) =>
          probe.process === "same" && probe.health !== "unresponsive"
            ? processes.adopt(directory, probe)
            : Effect.succeedNone
        ),
      readLog: (directory) => monitor.withLogLock(InstanceLogFile.readEntries(directory)),
      readFigures: (running) =>
        Effect.gen(function* () {
          const figures = Option.getOrNull(yield* readProcessMetrics(running.pid))
          const limitMb = Option.map(running.startedWith, ({ memoryMb }) => memoryMb)
          return {
            cpuPercent: figures === null ? null : yield* monitor.measureCpu(running, figures.cpuMs),
            memoryBytes: figures?.residentBytes ?? null,
            memoryLimitBytes: Option.getOrNull(Option.map(limitMb, (megabytes) => megabytes * 1024 * 1024)),
            // A process has no separate network to measure.
            networkReceivedBytes: null,
            networkSentBytes: null,
            pids: figures?.threads ?? null
          }
        })
    },
    options
  )
})
