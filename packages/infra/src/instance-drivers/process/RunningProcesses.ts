import type { InstanceExit, RunningInstance } from "@berth/domain/instances/InstanceDriver"
import type { UserId } from "@berth/domain/shared/UserId"
import { Deferred, Effect, Option, PubSub, Stream } from "effect"
import { isProcessAlive, readStartMark } from "../../process/ProcessIdentity.ts"
import type { InstanceDirectory } from "./InstanceDirectory.ts"
import * as InstanceLogFile from "../InstanceLogFile.ts"
import * as OwnerLocks from "../OwnerLocks.ts"
import { type InstanceProbe, toRunningInstance } from "./InstanceProbe.ts"
import { describeExit, findExitMessage, type ProcessExit } from "../ProcessExit.ts"
import { accountOf } from "./ProcessRecord.ts"
import { killAccount, terminateProcess } from "./ProcessTermination.ts"
import type { RunningProcess } from "./RunningProcess.ts"

export const terminateRegistered = ({ pid, startMark, startedWith }: RunningProcess) =>
  terminateProcess(pid, startMark, accountOf(startedWith))

/** The processes of this driver, their exits, and one lock per owner. */
export const make = Effect.gen(function* () {
  const scope = yield* Effect.scope
  const processes = new Map<UserId, RunningProcess>()
  const exits = yield* PubSub.unbounded<InstanceExit>()
  const withOwnerLock = yield* OwnerLocks.make

  const isRegistered = (process: RunningProcess) => processes.get(process.instance.owner) === process

  /** Under the owner's lock, so that the next process of the account is not killed. */
  const killLeft = ({ instance: { owner }, startedWith }: RunningProcess) =>
    withOwnerLock(
      owner,
      Effect.suspend(() => (processes.has(owner) ? Effect.void : killAccount(accountOf(startedWith))))
    )

  /** Publishes an exit that was not requested: a requested one is preceded by `unregister`. */
  const handleExit = (process: RunningProcess, exit: Option.Option<ProcessExit>) =>
    Effect.gen(function* () {
      const { directory, instance, logOffset, pid } = process
      const { owner } = instance
      if (!isRegistered(process)) return
      processes.delete(owner)
      yield* Effect.forkIn(killLeft(process), scope)
      const reason = describeExit(exit, findExitMessage(yield* InstanceLogFile.readTail(directory, logOffset)))
      yield* Effect.logWarning("Instance exited").pipe(Effect.annotateLogs({ userId: owner, pid, reason }))
      yield* InstanceLogFile.appendHostLine(directory, "error", `The instance exited: ${reason}`)
      yield* PubSub.publish(exits, { owner, reason })
    })

  /** Ends a process that must not go on. Published as an exit. */
  const endWithReason = (process: RunningProcess, reason: string) =>
    Effect.gen(function* () {
      const { directory, instance, pid } = process
      const { owner } = instance
      if (!isRegistered(process)) return
      processes.delete(owner)
      yield* Effect.logWarning("Instance ended by the driver").pipe(Effect.annotateLogs({ userId: owner, pid, reason }))
      yield* Effect.tapError(terminateRegistered(process), () => Effect.sync(() => processes.set(owner, process)))
      yield* InstanceLogFile.appendHostLine(directory, "error", `The instance was ended: ${reason}.`)
      yield* PubSub.publish(exits, { owner, reason })
    }).pipe(
      Effect.catchAll(({ message }) =>
        Effect.logError("Instance not ended").pipe(
          Effect.annotateLogs({ userId: process.instance.owner, reason: message })
        )
      ),
      Effect.uninterruptible,
      (work) => withOwnerLock(process.instance.owner, work)
    )

  const register = (process: RunningProcess) =>
    Effect.gen(function* () {
      processes.set(process.instance.owner, process)
      if (Option.isSome(process.child))
        yield* Deferred.await(process.child.value.exit).pipe(
          Effect.flatMap((exit) => handleExit(process, Option.some(exit))),
          Effect.forkIn(scope)
        )
      return process.instance
    })

  /** Registers a process that an earlier backend, or another driver, started. Idempotent. */
  const adopt = (owner: UserId, directory: InstanceDirectory, { address, pid, record }: InstanceProbe) =>
    Effect.gen(function* () {
      if (Option.isNone(address) || Option.isNone(pid)) return Option.none<RunningInstance>()
      const registered = processes.get(owner)
      if (registered?.pid === pid.value) return Option.some(registered.instance)
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
    exits: Stream.fromPubSub(exits),
    list: () => [...processes.values()],
    get: (owner: UserId) => Option.fromNullable(processes.get(owner)),
    /** Called before every turn: one check of the process. */
    findRunning: (owner: UserId) =>
      Effect.sync(() =>
        Option.fromNullable(processes.get(owner)).pipe(
          Option.filter(({ pid }) => isProcessAlive(pid)),
          Option.map(({ instance }) => instance)
        )
      ),
    /** From here on the exit of the owner's process is not published. */
    unregister: (owner: UserId) => void processes.delete(owner),
    register,
    adopt,
    handleExit,
    endWithReason,
    withOwnerLock
  }
})
export type RunningProcesses = Effect.Effect.Success<typeof make>
