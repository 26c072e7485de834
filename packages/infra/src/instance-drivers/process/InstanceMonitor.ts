import { Clock, type Duration, Effect, Option, Redacted, Schedule } from "effect"
import type { RuntimeClient } from "../../runtime/RuntimeClient.ts"
import * as InstanceLogFile from "./InstanceLogFile.ts"
import { probeHealth } from "./InstanceProbe.ts"
import { computeDiskTolerance, measureDiskUsage } from "./DiskUsage.ts"
import type { FileOperationFailed } from "./HostFiles.ts"
import * as HostProcess from "./HostProcess.ts"
import { consumeAllowance, makeFullAllowance, isLogFlood, type LogAllowance } from "./LogAllowance.ts"
import { type CpuSample, computeCpuPercent, readProcessMetrics } from "./ProcessMetrics.ts"
import type { RunningProcess } from "./RunningProcess.ts"

/** How often each thing about a cell is looked at. */
export interface MonitorIntervals {
  /** Whether a cell that is not our child still runs, and what memory each holds. */
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

/** A cell that did not answer so often in a row, two seconds each, hangs. */
const maximumMissedHealthChecks = 3
/** A cell ends itself when it holds too much; one that does not is ended when it holds so many times what it may. */
const memoryTolerance = 1.25
/** Measuring a large directory is work: it is at most this share of the time. */
const maximumDiskCheckShare = 1 / 50

/** What is known of a cell from one look to the next; nothing that a later backend needs. */
interface Observations {
  log: { readonly size: number; readonly allowance: LogAllowance }
  missedHealthChecks: number
  nextDiskCheckAt: number
  /** The last two looks at its clock, the newer one first. */
  cpu: ReadonlyArray<CpuSample>
  isEnding: boolean
}

export interface InstanceMonitorOptions {
  readonly processes: () => Iterable<RunningProcess>
  readonly client: RuntimeClient
  readonly intervals: MonitorIntervals
  /** The process of a cell that is not our child is gone. */
  readonly onGone: (tenant: RunningProcess) => Effect.Effect<void>
  /** Ends a cell and tells why. */
  readonly endWithReason: (tenant: RunningProcess, reason: string) => Effect.Effect<void>
}

export interface InstanceMonitor {
  /** Percent of one core over the last seconds; null where this system does not tell. */
  readonly measureCpu: (tenant: RunningProcess, cpuMs: number) => Effect.Effect<number | null>
  /** The log is neither read nor cut while the other is done. */
  readonly withLogLock: <A, E, R>(work: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
}

const toMebibytes = (bytes: number): number => Math.round(bytes / 1024 / 1024)

/** Looks after the cells for as long as the scope is open: those that died, hang, fill their disk or flood their log. */
export const make = ({ client, endWithReason, intervals, onGone, processes }: InstanceMonitorOptions) =>
  Effect.gen(function* () {
    const scope = yield* Effect.scope
    const logs = yield* Effect.makeSemaphore(1)
    const known = new WeakMap<RunningProcess, Observations>()

    const observationsOf = (tenant: RunningProcess) =>
      Effect.gen(function* () {
        const before = known.get(tenant)
        if (before !== undefined) return before
        const size = yield* InstanceLogFile.readFileSize(tenant.directory.log)
        const allowance = makeFullAllowance(yield* Clock.currentTimeMillis)
        const fresh: Observations = {
          log: { size, allowance },
          missedHealthChecks: 0,
          nextDiskCheckAt: 0,
          cpu: [],
          isEnding: false
        }
        known.set(tenant, fresh)
        return fresh
      })

    /** Beside the looks: a cell that ignores its end takes a while, and the others are looked at meanwhile. */
    const end = (tenant: RunningProcess, seen: Observations, reason: string) =>
      Effect.suspend(() => {
        if (seen.isEnding) return Effect.void
        seen.isEnding = true
        return Effect.asVoid(Effect.forkIn(endWithReason(tenant, reason), scope))
      })

    const lookAtLife = (tenant: RunningProcess) =>
      Effect.gen(function* () {
        if (Option.isNone(tenant.child)) {
          const finding = yield* HostProcess.matchProcess(tenant.pid, tenant.startMark)
          if (finding === "gone" || finding === "strange") return yield* onGone(tenant)
        }
        const figures = yield* readProcessMetrics(tenant.pid)
        if (Option.isNone(figures) || Option.isNone(tenant.startedWith)) return
        const [held, allowed] = [toMebibytes(figures.value.residentBytes), tenant.startedWith.value.memoryMb]
        if (held > allowed * memoryTolerance)
          yield* end(tenant, yield* observationsOf(tenant), `it holds ${held} MB, more than the ${allowed} MB it may`)
      })

    const lookAtLog = (tenant: RunningProcess) =>
      Effect.gen(function* () {
        const seen = yield* observationsOf(tenant)
        const size = yield* InstanceLogFile.readFileSize(tenant.directory.log)
        const now = yield* Clock.currentTimeMillis
        const allowance = consumeAllowance(seen.log.allowance, size - seen.log.size, now)
        yield* logs.withPermits(1)(InstanceLogFile.rotate(tenant.directory))
        seen.log = { size: size > InstanceLogFile.maximumLogBytes ? 0 : size, allowance }
        if (isLogFlood(allowance)) yield* end(tenant, seen, "it floods its log")
      })

    const lookAtDisk = (tenant: RunningProcess) =>
      Effect.gen(function* () {
        const began = yield* Clock.currentTimeMillis
        const seen = yield* observationsOf(tenant)
        if (Option.isNone(tenant.startedWith) || began < seen.nextDiskCheckAt) return
        const { diskAtStart, diskMb } = tenant.startedWith.value
        const tolerance = computeDiskTolerance(diskMb, diskAtStart)
        const used = yield* measureDiskUsage(tenant.directory.home, tolerance)
        const ended = yield* Clock.currentTimeMillis
        seen.nextDiskCheckAt = ended + (ended - began) / maximumDiskCheckShare
        if (used > tolerance)
          yield* end(tenant, seen, `it holds ${toMebibytes(used)} MB on the disk, more than the ${diskMb} MB it may`)
      })

    const lookAtHealth = (tenant: RunningProcess) =>
      Effect.gen(function* () {
        const seen = yield* observationsOf(tenant)
        const figures = yield* readProcessMetrics(tenant.pid)
        const at = yield* Clock.currentTimeMillis
        if (Option.isSome(figures)) seen.cpu = [{ cpuMs: figures.value.cpuMs, at }, ...seen.cpu.slice(0, 1)]
        // Its token is not known of every cell, and a refusal is an answer too.
        const health = yield* probeHealth(client, tenant.instance.endpoint, Redacted.make("none"))
        seen.missedHealthChecks = health === "silent" ? seen.missedHealthChecks + 1 : 0
        if (seen.missedHealthChecks >= maximumMissedHealthChecks) yield* end(tenant, seen, "it does not answer")
      })

    const always = (
      every: Duration.DurationInput,
      look: (tenant: RunningProcess) => Effect.Effect<void, FileOperationFailed>,
      concurrency: number
    ) =>
      Effect.suspend(() =>
        Effect.forEach(
          [...processes()],
          (tenant) =>
            Effect.catchAllCause(look(tenant), (cause) =>
              Effect.logError("The care for a cell failed", cause).pipe(
                Effect.annotateLogs({ userId: tenant.instance.owner })
              )
            ),
          { concurrency, discard: true }
        )
      ).pipe(Effect.schedule(Schedule.spaced(every)), Effect.forkScoped)

    yield* always(intervals.liveness, lookAtLife, 1)
    yield* always(intervals.logs, lookAtLog, 1)
    yield* always(intervals.disk, lookAtDisk, 1)
    yield* always(intervals.health, lookAtHealth, 16)

    const care: InstanceMonitor = {
      measureCpu: (tenant, cpuMs) =>
        Effect.map(Clock.currentTimeMillis, (at) => {
          const marks = known.get(tenant)?.cpu ?? []
          const before = marks.find((mark) => at - mark.at >= 1000) ?? {
            cpuMs: 0,
            at: tenant.instance.startedAt.epochMillis
          }
          return computeCpuPercent(before, { cpuMs, at })
        }),
      withLogLock: logs.withPermits(1)
    }
    return care
  })
