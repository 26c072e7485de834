import type { RunningInstance, InstanceSpec } from "@berth/domain/instances/InstanceDriver"
import { Data, Deferred, Duration, Effect, Option, Schedule } from "effect"
import { rm } from "node:fs/promises"
import type { RuntimeClient } from "../../runtime/RuntimeClient.ts"
import type { RuntimeBundle } from "./RuntimeBundles.ts"
import { type SpawnedProcess, spawnProcess, type ProcessSpawnFailed } from "./SpawnedProcess.ts"
import { terminateProcess } from "./ProcessTermination.ts"
import * as InstanceLogFile from "./InstanceLogFile.ts"
import type { InstanceDirectory } from "./InstanceDirectory.ts"
import * as ProcessRecord from "./ProcessRecord.ts"
import { toEndpoint, toRunningInstance } from "./InstanceProbe.ts"
import { measureDiskUsage } from "./DiskUsage.ts"
import { type FileOperationFailed, tryFileOperation } from "./HostFiles.ts"
import type { InstanceAccounts, InstanceAccountsExhausted } from "./InstanceAccounts.ts"
import * as HostProcess from "./HostProcess.ts"
import { describeExit, findExitMessage } from "./ProcessExit.ts"
import { makeNodeFlags, type PermissionFlags } from "./NodeFlags.ts"

/** The process was there, but did not become a cell. */
export class RuntimeNotReady extends Data.TaggedError("RuntimeNotReady")<{ readonly reason: string }> {
  override get message() {
    return this.reason
  }
}

export interface ProcessStartSettings {
  readonly node: string
  readonly permission: PermissionFlags
  readonly otlpEndpoint: string | undefined
  readonly accounts: InstanceAccounts
  readonly client: RuntimeClient
}

export interface StartedProcess {
  readonly instance: RunningInstance
  readonly child: SpawnedProcess
  readonly began: Option.Option<string>
  /** What its directory held before, in bytes. */
  readonly diskAtStart: number
  /** Length of the log before the cell's first word. */
  readonly logOffset: number
}

const readyTimeout = Duration.seconds(15)
/** Short against the quarter of a second that a start takes, and cheap: one look at a small file. */
const pollSchedule = Schedule.spaced("10 millis")

/** The child's own word for where it listens, proven by an answer to the token. */
const waitForRuntime = (
  settings: ProcessStartSettings,
  spec: InstanceSpec,
  place: InstanceDirectory,
  child: SpawnedProcess
) =>
  Effect.gen(function* () {
    const address = yield* ProcessRecord.readRuntimeAddress(place).pipe(
      Effect.map(Option.filter(({ pid }) => pid === child.pid)),
      Effect.repeat({ until: Option.isSome, schedule: pollSchedule }),
      Effect.zipRight(Effect.flatten(ProcessRecord.readRuntimeAddress(place))),
      Effect.catchTag("NoSuchElementException", () => new RuntimeNotReady({ reason: "its address went away" }))
    )
    const health = yield* settings.client
      .health({ endpoint: toEndpoint(address), token: spec.token })
      .pipe(
        Effect.mapError(
          (error) =>
            new RuntimeNotReady({ reason: error._tag === "RuntimeRequestRejected" ? error.message : error.reason })
        )
      )
    return toRunningInstance(spec.owner, address, health)
  })

const waitUntilReady = (
  settings: ProcessStartSettings,
  spec: InstanceSpec,
  place: InstanceDirectory,
  child: SpawnedProcess,
  logFrom: number
): Effect.Effect<RunningInstance, RuntimeNotReady | FileOperationFailed> => {
  const words = Effect.map(InstanceLogFile.readTail(place, logFrom), findExitMessage)
  const ended = Effect.flatMap(Deferred.await(child.exit), (end) =>
    Effect.flatMap(words, (said) => new RuntimeNotReady({ reason: describeExit(Option.some(end), said) }))
  )
  const late = Effect.flatMap(words, (said) => {
    const limit = Duration.format(readyTimeout)
    return new RuntimeNotReady({
      reason: `it was not ready within ${limit}${said === "" ? "" : `; its last words: ${said}`}`
    })
  })
  return Effect.raceFirst(waitForRuntime(settings, spec, place, child), ended).pipe(
    Effect.timeoutOption(readyTimeout),
    Effect.flatMap(Option.match({ onNone: () => late, onSome: Effect.succeed }))
  )
}

/** Starts a cell where none is, and waits until it answers. Whatever goes wrong on the way leaves no process behind. */
export const startProcess = (
  settings: ProcessStartSettings,
  spec: InstanceSpec,
  place: InstanceDirectory,
  bundle: RuntimeBundle
): Effect.Effect<
  StartedProcess,
  RuntimeNotReady | ProcessSpawnFailed | FileOperationFailed | InstanceAccountsExhausted
> =>
  Effect.gen(function* () {
    const uid = yield* settings.accounts.prepare(spec.owner, place)
    yield* tryFileOperation(`removing ${place.address}`, () => rm(place.address, { force: true }))
    const log = yield* Effect.acquireRelease(InstanceLogFile.openForProcess(place), ({ file }) =>
      Effect.orDie(tryFileOperation(`closing ${place.log}`, () => file.close()))
    )
    const diskAtStart = yield* measureDiskUsage(place.home, Number.MAX_SAFE_INTEGER)
    const { node, otlpEndpoint, permission } = settings
    const { file } = bundle
    const flags = makeNodeFlags({ permission, memoryMb: spec.memoryMb, bundle: file, home: place.home })

    return yield* Effect.uninterruptibleMask((restore) =>
      Effect.gen(function* () {
        const child = yield* spawnProcess(spec, {
          node,
          flags,
          bundle: file,
          directory: place,
          uid,
          otlpEndpoint,
          output: log.file.fd
        })
        const began = yield* HostProcess.readStartMark(child.pid)
        const ready = Effect.zipRight(
          ProcessRecord.writeProcessRecord(place, {
            pid: child.pid,
            began: Option.getOrNull(began),
            memoryMb: spec.memoryMb,
            diskMb: spec.diskMb,
            diskAtStart,
            bundle: bundle.digest,
            backendUrl: spec.backendUrl
          }),
          restore(waitUntilReady(settings, spec, place, child, log.from))
        )
        const instance = yield* Effect.onError(ready, () => terminateProcess(child.pid, began))
        return { instance, child, began, diskAtStart, logOffset: log.from }
      })
    )
  }).pipe(Effect.scoped)
