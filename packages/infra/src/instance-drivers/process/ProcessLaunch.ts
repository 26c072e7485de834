import type { InstanceSpec } from "@berth/domain/instances/InstanceDriver"
import { Effect, Option } from "effect"
import { readdir, rm } from "node:fs/promises"
import { join } from "node:path"
import { readStartMark } from "../../process/ProcessIdentity.ts"
import { logReplaced, makeToStartFailed } from "../HostFailure.ts"
import { isHostFault, tryFileOperation } from "../HostFiles.ts"
import type { Replacement } from "../PlatformDriver.ts"
import type { InstanceDirectory } from "./InstanceDirectory.ts"
import { probeInstance } from "./InstanceProbe.ts"
import { type ProcessStartSettings, type ProcessStartFailure, startProcess } from "./ProcessStart.ts"
import { accountOf } from "./ProcessRecord.ts"
import { type ProcessStillRunning, terminateProcess } from "./ProcessTermination.ts"
import { removeSocketsOrLog, type RunningProcesses, terminateRegistered } from "./RunningProcesses.ts"
import type * as RuntimeBundles from "./RuntimeBundles.ts"
import * as StartSlots from "../StartSlots.ts"
import { decideStart } from "./StartDecision.ts"

interface ProcessLaunchOptions {
  readonly settings: ProcessStartSettings
  readonly bundles: RuntimeBundles.RuntimeBundles
  readonly processes: RunningProcesses
}

const removeTree = (path: string) =>
  tryFileOperation(`removing ${path}`, () => rm(path, { recursive: true, force: true, maxRetries: 3 }))

const readEntries = (directory: string) =>
  tryFileOperation(`reading ${directory}`, () =>
    readdir(directory, { withFileTypes: true }).catch((cause: unknown) => {
      if (cause instanceof Error && "code" in cause && cause.code === "ENOENT") return []
      throw cause
    })
  )

/** Removes everything from the instance's home except the files of its agents. */
const resetDirectory = Effect.fnUntraced(function* ({ agents, home }: InstanceDirectory) {
  for (const entry of yield* readEntries(home)) {
    const path = join(home, entry.name)
    if (!entry.isDirectory() || path !== agents) yield* removeTree(path)
  }
})

type StartProblem = ProcessStartFailure | ProcessStillRunning

/** A failed program, or unexpected files of the instance, are not failures of the host. */
const isHostProblem = (error: StartProblem): boolean =>
  error._tag === "FileOperationFailed" ? isHostFault(error) : error._tag !== "RuntimeNotReady"

const toStartFailed = makeToStartFailed(isHostProblem)

/** Starts, replaces and ends processes of instances. */
export const make = ({ bundles, processes, settings }: ProcessLaunchOptions) => {
  const startSlots = StartSlots.make()

  const startNew = Effect.fnUntraced(function* (
    spec: InstanceSpec,
    directory: InstanceDirectory,
    bundle: RuntimeBundles.RuntimeBundle
  ) {
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
  const end = Effect.fnUntraced(function* (directory: InstanceDirectory) {
    const registered = processes.get(directory.owner)
    processes.unregister(directory.owner)
    if (Option.isSome(registered)) yield* terminateRegistered(registered.value)
    else {
      const { pid, process, record } = yield* probeInstance(settings.client, directory, Option.none())
      if (process === "same" && Option.isSome(pid))
        yield* terminateProcess(pid.value, readStartMark(pid.value), accountOf(record))
    }
    for (const path of [directory.record, directory.address, directory.sockets]) yield* removeTree(path)
  }, Effect.uninterruptible)

  const start = (spec: InstanceSpec, directory: InstanceDirectory) =>
    Effect.gen(function* () {
      const probe = yield* probeInstance(settings.client, directory, Option.some(spec.token))
      const decision = decideStart(probe, spec)
      if (decision._tag === "Adopt") {
        const adopted = yield* processes.adopt(directory, probe)
        if (Option.isSome(adopted)) return adopted.value
      }
      processes.unregister(spec.owner)
      if (decision._tag === "Replace" && Option.isSome(probe.pid)) {
        yield* Effect.annotateLogs(logReplaced(spec.owner, decision.reason), { pid: probe.pid.value })
        yield* terminateProcess(probe.pid.value, readStartMark(probe.pid.value), accountOf(probe.record))
      }
      const bundle = yield* bundles.findPinned(directory)
      const instance = yield* startNew(spec, directory, bundle)
      yield* bundles.pin(directory, bundle)
      return instance
    }).pipe(toStartFailed(spec.owner))

  /**
   * After a crash in between, the old version is still pinned: the next backend starts it, or adopts the running
   * process.
   */
  const update = Effect.fnUntraced(function* <E>(
    spec: InstanceSpec,
    directory: InstanceDirectory,
    { accept, fresh }: Replacement<E>
  ) {
    const { owner } = spec
    const replaced = Effect.gen(function* () {
      yield* end(directory)
      if (fresh) yield* resetDirectory(directory)
      return yield* startNew(spec, directory, bundles.newest)
    }).pipe(toStartFailed(owner))
    const instance = yield* replaced
    const pinned = bundles.pin(directory, bundles.newest).pipe(toStartFailed(owner))
    yield* Effect.onError(Effect.zipRight(accept(instance), pinned), () =>
      Effect.catchAll(end(directory), ({ message }) =>
        Effect.logError("Instance not ended").pipe(Effect.annotateLogs({ userId: owner, reason: message }))
      )
    )
    yield* bundles.removeUnused
    return instance
  })

  return { start, update, end }
}
