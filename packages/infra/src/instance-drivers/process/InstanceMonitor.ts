import { Clock, type Duration, Effect, Option, Redacted, Schedule } from "effect"
import { matchProcess } from "../../process/ProcessIdentity.ts"
import type { RuntimeClient } from "../../runtime/RuntimeClient.ts"
import * as InstanceLogFile from "../InstanceLogFile.ts"
import { maximumMissedHealthChecks, probeHealth } from "../HealthProbe.ts"
import {
  beginDiskCount,
  computeDiskCountPause,
  computeDiskTolerance,
  continueDiskCount,
  type DiskCount,
  isOverLimit,
  maximumEntries,
  measureDeletedFiles
} from "../DiskUsage.ts"
import type { FileOperationFailed } from "../HostFiles.ts"
import { consumeAllowance, makeFullAllowance, isLogFlood, type LogAllowance } from "./LogAllowance.ts"
import { type CpuSample, computeCpuPercent } from "../CpuPercent.ts"
import { readProcessMetrics } from "./ProcessMetrics.ts"
import type { RunningProcess } from "./RunningProcess.ts"
import type { RunningProcesses } from "./RunningProcesses.ts"

export interface MonitorIntervals {
  /** Of the exit of adopted processes, and of the memory of all. */
  readonly liveness: Duration.DurationInput
  readonly logs: Duration.DurationInput
  readonly disk: Duration.DurationInput
  readonly health: Duration.DurationInput
}

export const defaultMonitorIntervals: MonitorIntervals = {
  liveness: "1 second",
  logs: "1 second",
  disk: "5 seconds",
  health: "10 seconds"
}

/** An instance ends itself at its memory limit; the monitor ends one at this multiple. */
const memoryTolerance = 1.25
/** Entries that one check of a disk counts: six checks, every five seconds, count as many as an instance may have. */
const entriesPerDiskCheck = Math.ceil(maximumEntries / 6)
/** The state between two checks of an instance; a later backend does not need it. */
interface Observations {
  log: { readonly size: number; readonly allowance: LogAllowance }
  missedHealthChecks: number
  nextDiskCountAt: number
  /** An unfinished count of the directory, and the time spent on it. */
  diskCount: DiskCount | null
  diskCountMs: number
  /** The last two samples, the newer one first. */
  cpu: ReadonlyArray<CpuSample>
  isEnding: boolean
}

export interface InstanceMonitorOptions {
  readonly processes: Pick<RunningProcesses, "list" | "handleExit" | "endWithReason">
  readonly client: RuntimeClient
  readonly intervals: MonitorIntervals
}

export interface InstanceMonitor {
  /** Percent of one core over the last seconds; null on a system without process metrics. */
  readonly measureCpu: (process: RunningProcess, cpuMs: number) => Effect.Effect<number | null>
  /** Excludes log rotation while the work runs. */
  readonly withLogLock: <A, E, R>(work: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
}

const toMebibytes = (bytes: number): number => Math.round(bytes / 1024 / 1024)

/** Detects instances that exited, hang, fill their disk or flood their log, for as long as the scope is open. */
export const make = ({ client, intervals, processes }: InstanceMonitorOptions) =>
  Effect.gen(function* () {
    const scope = yield* Effect.scope
    const logLock = yield* Effect.makeSemaphore(1)
    const observations = new WeakMap<RunningProcess, Observations>()

    const observationsOf = (process: RunningProcess) =>
      Effect.gen(function* () {
        const known = observations.get(process)
        if (known !== undefined) return known
        const size = yield* InstanceLogFile.readFileSize(process.directory.log)
        const allowance = makeFullAllowance(yield* Clock.currentTimeMillis)
        const fresh: Observations = {
          log: { size, allowance },
          missedHealthChecks: 0,
          nextDiskCountAt: 0,
          diskCount: null,
          diskCountMs: 0,
          cpu: [],
          isEnding: false
        }
        observations.set(process, fresh)
        return fresh
      })

    /** In the background: a process that ignores SIGTERM must not delay the checks of the others. */
    const end = (process: RunningProcess, observed: Observations, reason: string) =>
      Effect.suspend(() => {
        if (observed.isEnding) return Effect.void
        observed.isEnding = true
        return Effect.asVoid(Effect.forkIn(processes.endWithReason(process, reason), scope))
      })

    const checkLiveness = (process: RunningProcess) =>
      Effect.gen(function* () {
        if (Option.isNone(process.child)) {
          const match = matchProcess(process.pid, process.startMark)
          if (match === "gone" || match === "different") return yield* processes.handleExit(process, Option.none())
        }
        const figures = yield* readProcessMetrics(process.pid)
        if (Option.isNone(figures) || Option.isNone(process.startedWith)) return
        const [held, allowed] = [toMebibytes(figures.value.residentBytes), process.startedWith.value.memoryMb]
        if (held > allowed * memoryTolerance)
          yield* end(process, yield* observationsOf(process), `it holds ${held} MB, more than the ${allowed} MB it may`)
      })

    const checkLog = (process: RunningProcess) =>
      Effect.gen(function* () {
        const observed = yield* observationsOf(process)
        const size = yield* InstanceLogFile.readFileSize(process.directory.log)
        const now = yield* Clock.currentTimeMillis
        const allowance = consumeAllowance(observed.log.allowance, size - observed.log.size, now)
        yield* logLock.withPermits(1)(InstanceLogFile.rotate(process.directory))
        observed.log = { size: size > InstanceLogFile.maximumLogBytes ? 0 : size, allowance }
        if (isLogFlood(allowance)) yield* end(process, observed, "it floods its log")
      })

    const checkDisk = (process: RunningProcess) =>
      Effect.gen(function* () {
        const observed = yield* observationsOf(process)
        if (Option.isNone(process.startedWith)) return
        const { diskAtStart, diskMb } = process.startedWith.value
        const tolerance = computeDiskTolerance(diskMb, diskAtStart)
        const endOver = (bytes: number, entries: number) => {
          const held = entries > maximumEntries ? `more than ${maximumEntries} files` : `${toMebibytes(bytes)} MB`
          return end(process, observed, `it holds ${held} on the disk, more than the ${diskMb} MB it may`)
        }
        const deleted = yield* measureDeletedFiles(process.pid)
        if (deleted > tolerance) return yield* endOver(deleted, 0)
        const startedAt = yield* Clock.currentTimeMillis
        if (startedAt < observed.nextDiskCountAt) return
        const count = observed.diskCount ?? beginDiskCount(process.directory.home)
        observed.diskCount = count
        const hasEnded = yield* continueDiskCount(count, entriesPerDiskCheck, tolerance - deleted)
        const endedAt = yield* Clock.currentTimeMillis
        observed.diskCountMs += endedAt - startedAt
        if (!hasEnded) return
        observed.diskCount = null
        observed.nextDiskCountAt = endedAt + computeDiskCountPause(observed.diskCountMs)
        observed.diskCountMs = 0
        if (isOverLimit(count, tolerance - deleted)) yield* endOver(count.bytes + deleted, count.entries)
      })

    const checkHealth = (process: RunningProcess) =>
      Effect.gen(function* () {
        const observed = yield* observationsOf(process)
        const figures = yield* readProcessMetrics(process.pid)
        const at = yield* Clock.currentTimeMillis
        if (Option.isSome(figures)) observed.cpu = [{ cpuMs: figures.value.cpuMs, at }, ...observed.cpu.slice(0, 1)]
        // An adopted instance's token is unknown; a rejection is an answer too.
        const health = yield* probeHealth(client, process.instance.endpoint, Redacted.make("none"))
        observed.missedHealthChecks = health === "unresponsive" ? observed.missedHealthChecks + 1 : 0
        if (observed.missedHealthChecks >= maximumMissedHealthChecks)
          yield* end(process, observed, "it does not answer")
      })

    const checkEvery = (
      interval: Duration.DurationInput,
      check: (process: RunningProcess) => Effect.Effect<void, FileOperationFailed>,
      concurrency: number
    ) =>
      Effect.suspend(() =>
        Effect.forEach(
          processes.list(),
          (process) =>
            Effect.catchAllCause(check(process), (cause) =>
              Effect.logError("Instance check failed", cause).pipe(
                Effect.annotateLogs({ userId: process.instance.owner })
              )
            ),
          { concurrency, discard: true }
        )
      ).pipe(Effect.schedule(Schedule.spaced(interval)), Effect.forkScoped)

    yield* checkEvery(intervals.liveness, checkLiveness, 1)
    yield* checkEvery(intervals.logs, checkLog, 1)
    yield* checkEvery(intervals.disk, checkDisk, 1)
    yield* checkEvery(intervals.health, checkHealth, 16)

    const monitor: InstanceMonitor = {
      measureCpu: (process, cpuMs) =>
        Effect.map(Clock.currentTimeMillis, (at) => {
          const samples = observations.get(process)?.cpu ?? []
          const before = samples.find((sample) => at - sample.at >= 1000) ?? {
            cpuMs: 0,
            at: process.instance.startedAt.epochMillis
          }
          return computeCpuPercent(before, { cpuMs, at })
        }),
      withLogLock: logLock.withPermits(1)
    }
    return monitor
  })
