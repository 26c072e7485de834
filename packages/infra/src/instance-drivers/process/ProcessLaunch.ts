import { type InstanceSpec, InstanceStartFailed, type RunningInstance } from "@berth/domain/instances/InstanceDriver"
import type { UserId } from "@berth/domain/shared/UserId"
import { Effect, Option } from "effect"
import { readdir, rm } from "node:fs/promises"
import { join } from "node:path"
import { readStartMark } from "../../process/ProcessIdentity.ts"
import { toHostUnavailable } from "../HostFailure.ts"
import { isHostFault, tryFileOperation } from "../HostFiles.ts"
import { type InstanceDirectory, resolveInstanceDirectory } from "./InstanceDirectory.ts"
import { probeInstance } from "./InstanceProbe.ts"
import { type ProcessStartSettings, type ProcessStartFailure, startProcess } from "./ProcessStart.ts"
import { accountOf } from "./ProcessRecord.ts"
import { type ProcessStillRunning, terminateProcess } from "./ProcessTermination.ts"
import { removeSocketsOrLog, type RunningProcesses, terminateRegistered } from "./RunningProcesses.ts"
import type * as RuntimeBundles from "./RuntimeBundles.ts"
import * as StartSlots from "../StartSlots.ts"
import { decideStart } from "./StartDecision.ts"

export interface ProcessLaunchOptions {
  readonly root: string
  readonly settings: ProcessStartSettings
  readonly bundles: RuntimeBundles.RuntimeBundles
  readonly processes: RunningProcesses
}

export const removeTree = (path: string) =>
  tryFileOperation(`removing ${path}`, () => rm(path, { recursive: true, force: true, maxRetries: 3 }))

const readEntries = (directory: string) =>
  tryFileOperation(`reading ${directory}`, () =>
    readdir(directory, { withFileTypes: true }).catch((cause: unknown) => {
      if (cause instanceof Error && "code" in cause && cause.code === "ENOENT") return []
      throw cause
    })
  )

/** Removes everything from the instance's home except the files of its agents. */
const resetDirectory = ({ agents, home }: InstanceDirectory) =>
  Effect.gen(function* () {
    for (const entry of yield* readEntries(home)) {
      const path = join(home, entry.name)
      if (!entry.isDirectory() || path !== agents) yield* removeTree(path)
    }
  })

type StartProblem = ProcessStartFailure | ProcessStillRunning

/** A failed program, or unexpected files of the instance, are not failures of the host. */
const isHostProblem = (error: StartProblem): boolean =>
  error._tag === "FileOperationFailed" ? isHostFault(error) : error._tag !== "RuntimeNotReady"

/** Starts, replaces and ends processes of instances. */
export const make = ({ bundles, processes, root, settings }: ProcessLaunchOptions) => {
  const startSlots = StartSlots.make()

  const requireDirectory = (owner: UserId) =>
    Effect.mapError(
      resolveInstanceDirectory(root, owner),
      () => new InstanceStartFailed({ owner, reason: "the owner's id names no directory" })
    )

  const toStartFailed = (owner: UserId) =>
    Effect.mapError((error: StartProblem) =>
      isHostProblem(error) ? toHostUnavailable(error) : new InstanceStartFailed({ owner, reason: error.message })
    )

  const startNew = (spec: InstanceSpec, directory: InstanceDirectory, bundle: RuntimeBundles.RuntimeBundle) =>
    Effect.gen(function* () {
      const { diskMb, memoryMb, owner } = spec
      const started = startSlots
        .withPermits(1)(startProcess(settings, spec, directory, bundle))
        .pipe(Effect.onError(() => removeSocketsOrLog(directory)))
      const { child, diskAtStart, instance, logOffset, startMark, uid } = yield* started
      const { pid } = child
      yield* Effect.logInfo("Instance started").pipe(Effect.annotateLogs({ userId: owner, pid }))
      return yield* processes.register({
        instance,
        directory,
        pid,
        startMark,
        child: Option.some(child),
        logOffset,
        startedWith: Option.some({ uid: Option.getOrNull(uid), memoryMb, diskMb, diskAtStart })
      })
    })

  /** Ends the owner's process, registered or not. The caller holds the owner's lock. */
  const end = (owner: UserId, directory: InstanceDirectory) =>
    Effect.gen(function* () {
      const registered = processes.get(owner)
      processes.unregister(owner)
      if (Option.isSome(registered)) yield* terminateRegistered(registered.value)
      else {
        const { pid, process, record } = yield* probeInstance(settings.client, directory, Option.none())
        if (process === "same" && Option.isSome(pid))
          yield* terminateProcess(pid.value, readStartMark(pid.value), accountOf(record))
      }
      for (const path of [directory.record, directory.address, directory.sockets]) yield* removeTree(path)
    }).pipe(Effect.uninterruptible)

  const startLocked = (spec: InstanceSpec, directory: InstanceDirectory) =>
    Effect.gen(function* () {
      const { owner } = spec
      const found = yield* probeInstance(settings.client, directory, Option.some(spec.token))
      const decision = decideStart(found, spec)
      if (decision._tag === "Adopt") {
        const adopted = yield* processes.adopt(owner, directory, found)
        if (Option.isSome(adopted)) return adopted.value
      }
      processes.unregister(owner)
      if (decision._tag === "Replace" && Option.isSome(found.pid)) {
        yield* Effect.logWarning("Instance replaced").pipe(
          Effect.annotateLogs({ userId: owner, pid: found.pid.value, reason: decision.reason })
        )
        yield* terminateProcess(found.pid.value, readStartMark(found.pid.value), accountOf(found.record))
      }
      const bundle = yield* bundles.findPinned(directory)
      const instance = yield* startNew(spec, directory, bundle)
      yield* bundles.pin(directory, bundle)
      return instance
    })

  const start = Effect.fn("InstanceDriver.start")(function* (spec: InstanceSpec) {
    const { owner } = spec
    yield* Effect.annotateCurrentSpan({ "user.id": owner })
    const directory = yield* requireDirectory(owner)
    return yield* processes.withOwnerLock(owner, startLocked(spec, directory)).pipe(toStartFailed(owner))
  })

  /**
   * After a crash in between, the old version is still pinned: the next backend starts it, or adopts the running
   * process.
   */
  const update = <E>(
    spec: InstanceSpec,
    { fresh }: { readonly fresh: boolean },
    accept: (instance: RunningInstance) => Effect.Effect<void, E>
  ) =>
    Effect.gen(function* () {
      const { owner } = spec
      const directory = yield* requireDirectory(owner)
      const replaced = Effect.gen(function* () {
        yield* end(owner, directory)
        if (fresh) yield* resetDirectory(directory)
        return yield* startNew(spec, directory, bundles.newest)
      }).pipe(toStartFailed(owner))
      const work = Effect.gen(function* () {
        const instance = yield* replaced
        const pinned = bundles.pin(directory, bundles.newest).pipe(toStartFailed(owner))
        yield* Effect.onError(Effect.zipRight(accept(instance), pinned), () =>
          Effect.catchAll(end(owner, directory), ({ message }) =>
            Effect.logError("Instance not ended").pipe(Effect.annotateLogs({ userId: owner, reason: message }))
          )
        )
        return instance
      })
      return yield* Effect.zipLeft(processes.withOwnerLock(owner, work), bundles.removeUnused)
    }).pipe(Effect.withSpan("InstanceDriver.update", { attributes: { "user.id": spec.owner } }))

  return { start, update, end }
}
