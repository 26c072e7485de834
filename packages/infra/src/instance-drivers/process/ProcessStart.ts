import type { RuntimeAddress } from "@berth/api/runtime/RuntimeContract"
import type { RunningInstance, InstanceSpec } from "@berth/domain/instances/InstanceDriver"
import { Deferred, Duration, Effect, Option, Queue } from "effect"
import { watch } from "node:fs"
import { rm } from "node:fs/promises"
import type { RuntimeClient } from "../../runtime/RuntimeClient.ts"
import type { RuntimeBundle } from "./RuntimeBundles.ts"
import { type SpawnedProcess, spawnProcess, type ProcessSpawnFailed } from "./SpawnedProcess.ts"
import { killAccount, terminateProcessOrLog } from "./ProcessTermination.ts"
import * as InstanceLogFile from "../InstanceLogFile.ts"
import type { InstanceDirectory } from "./InstanceDirectory.ts"
import * as ProcessRecord from "./ProcessRecord.ts"
import { makeSocketEndpoint } from "../../runtime/UnixSocketClient.ts"
import { toRunningInstance } from "./InstanceProbe.ts"
import { measureDiskUsage } from "../DiskUsage.ts"
import { RuntimeNotReady } from "../HealthProbe.ts"
import { type FileOperationFailed, tryFileOperation } from "../HostFiles.ts"
import type { InstanceAccounts, InstanceAccountsExhausted } from "./InstanceAccounts.ts"
import { readStartMark } from "../../process/ProcessIdentity.ts"
import { describeExit, findExitMessage } from "../ProcessExit.ts"
import type { ProcessLauncher } from "./ProcessLauncher.ts"
import { makeNodeFlags, type PermissionFlags } from "../NodeFlags.ts"

export interface ProcessStartSettings {
  readonly node: string
  readonly permission: PermissionFlags
  readonly accounts: InstanceAccounts
  readonly launcher: ProcessLauncher
  readonly client: RuntimeClient
}

export type ProcessStartFailure = RuntimeNotReady | ProcessSpawnFailed | FileOperationFailed | InstanceAccountsExhausted

interface StartedProcess {
  readonly instance: RunningInstance
  readonly child: SpawnedProcess
  readonly startMark: Option.Option<string>
  /** Separate account of the instance. */
  readonly uid: Option.Option<number>
  /** Bytes in its directory before the start. */
  readonly diskAtStart: number
  readonly logOffset: number
}

const readyTimeout = Duration.seconds(15)
/** For file systems without change notifications. */
const pollInterval = Duration.millis(200)

/** Waits for the next change in a directory since this call. */
const watchDirectory = Effect.fnUntraced(function* (path: string) {
  const changes = yield* Queue.sliding<void>(1)
  const watching = Effect.try(() =>
    watch(path, { persistent: false }, () => changes.unsafeOffer(undefined)).on("error", ({ message }) =>
      Effect.runFork(Effect.logDebug("Directory not watched").pipe(Effect.annotateLogs({ path, reason: message })))
    )
  )
  yield* Effect.acquireRelease(Effect.option(watching), (watcher) =>
    Effect.sync(() => Option.getOrUndefined(watcher)?.close())
  )
  return Queue.take(changes)
})

/** Waits until the child publishes its address, and verifies it by a health request with the token. */
const waitForRuntime = Effect.fnUntraced(function* (
  settings: ProcessStartSettings,
  spec: InstanceSpec,
  directory: InstanceDirectory,
  child: SpawnedProcess,
  nextChange: Effect.Effect<void>
) {
  const isPublished = (found: Option.Option<RuntimeAddress>) => Option.exists(found, ({ pid }) => pid === child.pid)
  yield* ProcessRecord.readRuntimeAddress(directory).pipe(
    Effect.tap((found) => (isPublished(found) ? Effect.void : Effect.timeoutOption(nextChange, pollInterval))),
    Effect.repeat({ until: isPublished })
  )
  const health = yield* settings.client
    .health({ endpoint: makeSocketEndpoint(directory.socket), token: spec.token })
    .pipe(
      Effect.mapError(
        (error) =>
          new RuntimeNotReady({ reason: error._tag === "RuntimeRequestRejected" ? error.message : error.reason })
      )
    )
  return toRunningInstance(spec.owner, directory, health)
})

const waitUntilReady = (
  settings: ProcessStartSettings,
  spec: InstanceSpec,
  directory: InstanceDirectory,
  child: SpawnedProcess,
  nextChange: Effect.Effect<void>,
  logFrom: number
): Effect.Effect<RunningInstance, RuntimeNotReady | FileOperationFailed> => {
  const exitMessage = Effect.map(InstanceLogFile.readTail(directory, logFrom), findExitMessage)
  const ended = Effect.flatMap(Deferred.await(child.exit), (end) =>
    Effect.flatMap(exitMessage, (message) => new RuntimeNotReady({ reason: describeExit(Option.some(end), message) }))
  )
  const late = Effect.flatMap(exitMessage, (message) => {
    const limit = Duration.format(readyTimeout)
    return new RuntimeNotReady({
      reason: `it was not ready within ${limit}${message === "" ? "" : `; its last log line: ${message}`}`
    })
  })
  return Effect.raceFirst(waitForRuntime(settings, spec, directory, child, nextChange), ended).pipe(
    Effect.timeoutOption(readyTimeout),
    Effect.flatMap(Option.match({ onNone: () => late, onSome: Effect.succeed }))
  )
}

/** Starts an instance and waits until its runtime is ready. A failure or an interruption leaves no process behind. */
export const startProcess = (
  settings: ProcessStartSettings,
  spec: InstanceSpec,
  directory: InstanceDirectory,
  bundle: RuntimeBundle
): Effect.Effect<StartedProcess, ProcessStartFailure> =>
  Effect.gen(function* () {
    const uid = yield* settings.accounts.prepare(spec.owner, directory)
    const removeAddress = Effect.zipRight(
      killAccount(uid),
      tryFileOperation(`removing ${directory.address}`, () => rm(directory.address, { force: true }))
    )
    const openLog = Effect.acquireRelease(InstanceLogFile.openForProcess(directory), ({ file }) =>
      Effect.orDie(tryFileOperation(`closing ${directory.log}`, () => file.close()))
    )
    const [, log, diskAtStart] = yield* Effect.all(
      [removeAddress, openLog, measureDiskUsage(directory.home, Number.MAX_SAFE_INTEGER)],
      { concurrency: "unbounded" }
    )
    const nextChange = yield* watchDirectory(directory.home)
    const { node, permission } = settings
    const { file } = bundle
    const flags = makeNodeFlags({
      permission,
      memoryMb: spec.memoryMb,
      bundle: file,
      home: directory.home,
      sockets: directory.sockets
    })

    return yield* Effect.uninterruptibleMask((restore) =>
      Effect.gen(function* () {
        const child = yield* spawnProcess(spec, {
          node,
          flags,
          bundle: file,
          directory,
          uid,
          launcher: settings.launcher,
          output: log.file.fd
        })
        const startMark = readStartMark(child.pid)
        const ready = Effect.zipRight(
          ProcessRecord.writeProcessRecord(directory, {
            pid: child.pid,
            startMark: Option.getOrNull(startMark),
            uid: Option.getOrNull(uid),
            memoryMb: spec.memoryMb,
            diskMb: spec.diskMb,
            diskAtStart,
            bundle: bundle.digest,
            backendUrl: spec.backendUrl
          }),
          restore(waitUntilReady(settings, spec, directory, child, nextChange, log.from))
        )
        const instance = yield* Effect.onError(ready, () => terminateProcessOrLog(child.pid, startMark, uid))
        return { instance, child, startMark, uid, diskAtStart, logOffset: log.from }
      })
    )
  }).pipe(Effect.scoped)
