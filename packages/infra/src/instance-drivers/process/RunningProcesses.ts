import type { RunningInstance } from "@berth/domain/instances/InstanceDriver"
import type { UserId } from "@berth/domain/shared/UserId"
import { Deferred, Effect, Option } from "effect"
import { rm } from "node:fs/promises"
import { isProcessAlive, readStartMark } from "../../process/ProcessIdentity.ts"
import type { InstanceDirectory } from "./InstanceDirectory.ts"
import { tryFileOperation } from "../HostFiles.ts"
import * as InstanceLogFile from "../InstanceLogFile.ts"
import * as InstanceRegistry from "../InstanceRegistry.ts"
import { type InstanceProbe, toRunningInstance } from "./InstanceProbe.ts"
import { describeExit, findExitMessage, type ProcessExit } from "../ProcessExit.ts"
import { accountOf } from "./ProcessRecord.ts"
import { killAccount, terminateProcess } from "./ProcessTermination.ts"
import type { RunningProcess } from "./RunningProcess.ts"

export const terminateRegistered = ({ pid, startMark, startedWith }: RunningProcess) =>
  terminateProcess(pid, startMark, accountOf(startedWith))

/** Removes the sockets of an instance that has ended or did not start. The caller holds the owner's lock. */
export const removeSocketsOrLog = ({ sockets }: InstanceDirectory) =>
  tryFileOperation(`removing ${sockets}`, () => rm(sockets, { recursive: true, force: true })).pipe(
    Effect.catchAll(({ message }) => Effect.logWarning("Sockets not removed", message))
  )

/** Processes of this driver, their exits, and one lock per owner. */
export const make = Effect.gen(function* () {
  const scope = yield* Effect.scope
  const registry = yield* InstanceRegistry.make<RunningProcess>(({ directory }) => directory)

  /** Under the owner's lock, so that the account's next process is not killed. */
  const removeLeft = ({ directory, instance: { owner }, startedWith }: RunningProcess) =>
    registry.withOwnerLock(
      owner,
      Effect.suspend(() =>
        Option.isSome(registry.get(owner))
          ? Effect.void
          : Effect.zipRight(killAccount(accountOf(startedWith)), removeSocketsOrLog(directory))
      )
    )

  const handleExit = Effect.fnUntraced(function* (process: RunningProcess, exit: Option.Option<ProcessExit>) {
    const { directory, instance, logOffset } = process
    if (!registry.isRegistered(process)) return
    registry.unregister(instance.owner)
    yield* Effect.forkIn(removeLeft(process), scope)
    const reason = describeExit(exit, findExitMessage(yield* InstanceLogFile.readTail(directory, logOffset)))
    yield* registry.publishExit(process, reason)
  })

  const register = Effect.fnUntraced(function* (process: RunningProcess) {
    registry.register(process)
    if (Option.isSome(process.child))
      yield* Deferred.await(process.child.value.exit).pipe(
        Effect.flatMap((exit) => handleExit(process, Option.some(exit))),
        Effect.forkIn(scope)
      )
    return process.instance
  })

  /** Registers a process started by an earlier backend or another driver. Idempotent. */
  const adopt = Effect.fnUntraced(function* (directory: InstanceDirectory, { address, pid, record }: InstanceProbe) {
    const { owner } = directory
    if (Option.isNone(address) || Option.isNone(pid)) return Option.none<RunningInstance>()
    const registered = registry.get(owner)
    if (Option.isSome(registered) && registered.value.pid === pid.value) return Option.some(registered.value.instance)
    yield* Effect.logInfo("Instance adopted").pipe(Effect.annotateLogs({ userId: owner, pid: pid.value }))
    const instance = yield* register({
      instance: toRunningInstance(owner, directory, address.value),
      directory,
      pid: pid.value,
      startMark: readStartMark(pid.value),
      child: Option.none(),
      logOffset: 0,
      startedWith: record
    })
    return Option.some(instance)
  })

  return {
    ...registry,
    /** Called before every turn; a single check of the process. */
    getAlive: (owner: UserId) => Option.filter(registry.get(owner), ({ pid }) => isProcessAlive(pid)),
    register,
    adopt,
    handleExit,
    endWithReason: (process: RunningProcess, reason: string) =>
      registry.endWithReason(process, terminateRegistered(process), reason)
  }
})
export type RunningProcesses = Effect.Effect.Success<typeof make>
