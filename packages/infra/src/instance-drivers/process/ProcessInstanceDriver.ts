import { InstanceDriver } from "@berth/domain/instances/InstanceDriver"
import type { AgentId } from "@berth/domain/shared/AgentId"
import { UserId } from "@berth/domain/shared/UserId"
import * as HttpClient from "@effect/platform/HttpClient"
import { Effect, Layer, Option } from "effect"
import { existsSync } from "node:fs"
import { readdir, rmdir } from "node:fs/promises"
import * as RuntimeClient from "../../runtime/RuntimeClient.ts"
import { removeOtherAgents } from "./AgentFileRemoval.ts"
import { stopAll, toHostUnavailable } from "../HostFailure.ts"
import { type FileOperationFailed, tryFileOperation } from "../HostFiles.ts"
import * as InstanceAccounts from "./InstanceAccounts.ts"
import { type InstanceDirectory, resolveInstanceDirectory, resolveSocketRoot } from "./InstanceDirectory.ts"
import * as InstanceMonitor from "./InstanceMonitor.ts"
import * as InstanceReports from "./InstanceReports.ts"
import { type BundleUnreadable, type InstanceAccountsUnavailable, prepareInstanceRoot } from "./InstanceRoot.ts"
import { detectPermissionFlags } from "../NodeFlags.ts"
import * as ProcessLaunch from "./ProcessLaunch.ts"
import * as ProcessLauncher from "./ProcessLauncher.ts"
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

const make = (options: ProcessInstanceDriverOptions) =>
  Effect.gen(function* () {
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
      root: root.path,
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
    const reports = InstanceReports.make({ root: root.path, client, processes, monitor })

    const stop = Effect.fn("InstanceDriver.stop")(function* (owner: UserId) {
      yield* Effect.annotateCurrentSpan({ "user.id": owner })
      const directory = resolveInstanceDirectory(root.path, owner)
      if (Option.isSome(directory))
        yield* Effect.mapError(processes.withOwnerLock(owner, launches.end(owner, directory.value)), toHostUnavailable)
    })

    const remove = Effect.fn("InstanceDriver.remove")(function* (owner: UserId) {
      yield* Effect.annotateCurrentSpan({ "user.id": owner })
      const directory = resolveInstanceDirectory(root.path, owner)
      if (Option.isNone(directory)) return
      const { path } = directory.value
      yield* Effect.mapError(
        processes.withOwnerLock(
          owner,
          Effect.zipRight(launches.end(owner, directory.value), ProcessLaunch.removeTree(path))
        ),
        toHostUnavailable
      )
    })

    const removeAgents = Effect.fn("InstanceDriver.removeOtherAgents")(function* (
      owner: UserId,
      kept: ReadonlyArray<AgentId>
    ) {
      yield* Effect.annotateCurrentSpan({ "user.id": owner })
      const directory = resolveInstanceDirectory(root.path, owner)
      if (Option.isSome(directory))
        yield* Effect.mapError(
          processes.withOwnerLock(owner, removeOtherAgents(directory.value, kept)),
          toHostUnavailable
        )
    })

    const list = (select: (directory: InstanceDirectory) => boolean) =>
      tryFileOperation("listing the owners", () => readdir(root.path)).pipe(
        Effect.map((names) =>
          names
            .filter((name) => Option.exists(resolveInstanceDirectory(root.path, name), select))
            .map((name) => UserId.make(name))
        ),
        Effect.mapError(toHostUnavailable)
      )
    const listOwners = Effect.withSpan(
      list(() => true),
      "InstanceDriver.listOwners"
    )
    // A stop removes both files.
    const listRunning = Effect.withSpan(
      list(({ address, record }) => existsSync(record) || existsSync(address)),
      "InstanceDriver.listRunning"
    )

    yield* Effect.addFinalizer(() =>
      Effect.suspend(() => {
        const running = processes.list().map(({ instance }) => instance.owner)
        return options.onClose === "leave"
          ? Effect.logInfo("Instances left running").pipe(Effect.annotateLogs({ instances: running.length }))
          : Effect.zipRight(
              stopAll(running, stop),
              // Not empty while another driver has instances below this root.
              Effect.ignore(tryFileOperation("removing the sockets", () => rmdir(resolveSocketRoot(root.path))))
            )
      })
    )

    return InstanceDriver.of({
      start: launches.start,
      update: launches.update,
      stop,
      remove,
      removeOtherAgents: removeAgents,
      listOwners,
      listRunning,
      ...reports,
      exits: processes.exits
    })
  })
