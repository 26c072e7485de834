import { Clock, type Duration, Effect, Option } from "effect"
import { matchProcess } from "../../process/ProcessIdentity.ts"
import type { RuntimeClient } from "../../runtime/RuntimeClient.ts"
import * as InstanceLogFile from "../InstanceLogFile.ts"
import * as InstanceChecks from "../InstanceChecks.ts"
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
import { readProcessMetrics } from "./ProcessMetrics.ts"
import type { RunningProcess } from "./RunningProcess.ts"
import type { RunningProcesses } from "./RunningProcesses.ts"
import { type LogAllowance, makeFullAllowance, consumeAllowance, isLogFlood } from "./LogAllowance.ts"

export interface MonitorIntervals {
  /** Interval for the exits of adopted processes, and for the memory of all. */
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

/** An instance ends itself at its memory limit; the monitor ends it at this multiple. */
const memoryTolerance = 1.25
/** Maximum entries per disk check: six checks, every five seconds, cover the maximum of an instance. */
const entriesPerDiskCheck = Math.ceil(maximumEntries / 6)
/** Log and disk of an instance between two checks. */
interface Observations {
  log: { readonly size: number; readonly allowance: LogAllowance }
  nextDiskCountAt: number
  /** An incomplete count of the directory, and the time spent on it. */
  diskCount: DiskCount | null
  diskCountMs: number
}

interface InstanceMonitorOptions {
  readonly processes: Pick<RunningProcesses, "list" | "handleExit" | "endWithReason">
  readonly client: RuntimeClient
  readonly intervals: MonitorIntervals
}

interface InstanceMonitor {
  /** Percent of one core over the last seconds; null on a system without process metrics. */
  readonly measureCpu: (process: RunningProcess, cpuMs: number) => Effect.Effect<number | null>
  /** Excludes log rotation while the work runs. */
  readonly withLogLock: <A, E, R>(work: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
}

/** Detects instances that exited, hang, fill their disk or flood their log; runs until the scope closes. */
export const make = Effect.fnUntraced(function* ({ client, intervals, processes }: InstanceMonitorOptions) {
  const { endWithReason, list } = processes
  const checks = yield* InstanceChecks.make({ list, endWithReason, client, logOf: ({ directory }) => directory })
  const logLock = yield* Effect.makeSemaphore(1)
  const observations = new WeakMap<RunningProcess, Observations>()

  const observationsOf = Effect.fnUntraced(function* (process: RunningProcess) {
    const observation = observations.get(process)
    if (observation !== undefined) return observation
    const size = yield* InstanceLogFile.readFileSize(process.directory.log)
    const allowance = makeFullAllowance(yield* Clock.currentTimeMillis)
    const fresh: Observations = {
      log: { size, allowance },
      nextDiskCountAt: 0,
      diskCount: null,
      diskCountMs: 0
    }
    observations.set(process, fresh)
    return fresh
  })

  const checkLiveness = Effect.fnUntraced(function* (process: RunningProcess) {
    if (Option.isNone(process.child)) {
      const match = matchProcess(process.pid, process.startMark)
      if (match === "gone" || match === "different") return yield* processes.handleExit(process, Option.none())
    }
    const figures = yield* readProcessMetrics(process.pid)
    if (Option.isNone(figures) || Option.isNone(process.startedWith)) return
    const { residentBytes } = figures.value
    const { memoryMb } = process.startedWith.value
    yield* checks.checkMemory(process, residentBytes, memoryMb)
    const heldMb = Math.round(residentBytes / 1024 / 1024)
    if (heldMb > memoryMb * memoryTolerance)
      yield* checks.end(process, `it holds ${heldMb} MB, more than the ${memoryMb} MB it may`)
  })

  const checkLog = Effect.fnUntraced(function* (process: RunningProcess) {
    const observed = yield* observationsOf(process)
    const size = yield* InstanceLogFile.readFileSize(process.directory.log)
    const now = yield* Clock.currentTimeMillis
    const allowance = consumeAllowance(observed.log.allowance, size - observed.log.size, now)
    const isLogOverLimit = size > InstanceLogFile.maximumLogBytes
    if (isLogOverLimit) yield* logLock.withPermits(1)(InstanceLogFile.rotate(process.directory))
    observed.log = { size: isLogOverLimit ? 0 : size, allowance }
    if (isLogFlood(allowance)) yield* checks.end(process, "it floods its log")
  })

  const checkDisk = Effect.fnUntraced(function* (process: RunningProcess) {
    const observed = yield* observationsOf(process)
    if (Option.isNone(process.startedWith)) return
    const { diskAtStart, diskMb } = process.startedWith.value
    const tolerance = computeDiskTolerance(diskMb, diskAtStart)
    const deleted = yield* measureDeletedFiles(process.pid)
    if (deleted > tolerance) return yield* checks.endOverDisk(process, { bytes: deleted, entries: 0 }, diskMb)
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
    if (!isOverLimit(count, tolerance - deleted)) return
    yield* checks.endOverDisk(process, { bytes: count.bytes + deleted, entries: count.entries }, diskMb)
  })

  const checkHealth = Effect.fnUntraced(function* (process: RunningProcess) {
    const figures = yield* readProcessMetrics(process.pid)
    if (Option.isSome(figures)) yield* checks.recordCpu(process, figures.value.cpuMs)
    yield* checks.checkHealth(process)
  })

  yield* checks.checkEvery(intervals.liveness, checkLiveness, 1)
  yield* checks.checkEvery(intervals.logs, checkLog, 1)
  yield* checks.checkEvery(intervals.disk, checkDisk, 1)
  yield* checks.checkEvery(intervals.health, checkHealth, 16)

  const monitor: InstanceMonitor = {
    measureCpu: checks.measureCpu,
    withLogLock: logLock.withPermits(1)
  }
  return monitor
})
