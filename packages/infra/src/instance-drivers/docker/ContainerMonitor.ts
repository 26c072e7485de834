import { Clock, type Duration, Effect, Option, Redacted, Schedule } from "effect"
import type { RuntimeClient } from "../../runtime/RuntimeClient.ts"
import { type CpuSample, computeCpuPercent } from "../CpuPercent.ts"
import {
  computeDiskCountPause,
  computeDiskTolerance,
  isOverLimit,
  maximumEntries,
  measureDeletedFiles
} from "../DiskUsage.ts"
import { maximumMissedHealthChecks, probeHealth } from "../HealthProbe.ts"
import * as InstanceLogFile from "../InstanceLogFile.ts"
import type { DockerEngine } from "./DockerEngine.ts"
import { readFigures } from "./ContainerFigures.ts"
import type { RunningContainer, RunningContainers } from "./RunningContainers.ts"
import { measureVolume } from "./VolumeUsage.ts"

export interface ContainerMonitorIntervals {
  readonly disk: Duration.DurationInput
  readonly health: Duration.DurationInput
}

export const defaultContainerMonitorIntervals: ContainerMonitorIntervals = { disk: "5 seconds", health: "10 seconds" }

/** Share of the memory limit above which the owner is warned. */
const memoryWarningShare = 0.9
const mib = 1024 * 1024

/** The state between two checks of an instance; a later backend does not need it. */
interface Observations {
  missedHealthChecks: number
  isMemoryHigh: boolean
  nextDiskCountAt: number
  /** The last two samples, the newer one first. */
  cpu: ReadonlyArray<CpuSample>
}

export interface ContainerMonitorOptions {
  readonly engine: DockerEngine
  readonly running: RunningContainers
  readonly client: RuntimeClient
  readonly intervals: ContainerMonitorIntervals
}

/** Detects instances that hang, fill their disk or come near their memory limit, for as long as the scope is open. */
export const make = ({ client, engine, intervals, running }: ContainerMonitorOptions) =>
  Effect.gen(function* () {
    const scope = yield* Effect.scope
    const observations = new WeakMap<RunningContainer, Observations>()

    const observationsOf = (container: RunningContainer): Observations => {
      const known = observations.get(container)
      if (known !== undefined) return known
      const fresh: Observations = { missedHealthChecks: 0, isMemoryHigh: false, nextDiskCountAt: 0, cpu: [] }
      observations.set(container, fresh)
      return fresh
    }

    /** In the background: a container that ignores SIGTERM must not delay the checks of the others. */
    const end = (container: RunningContainer, reason: string) =>
      Effect.asVoid(Effect.forkIn(running.endWithReason(container, reason), scope))

    const checkDisk = (container: RunningContainer) =>
      Effect.gen(function* () {
        const observed = observationsOf(container)
        const startedAt = yield* Clock.currentTimeMillis
        if (startedAt < observed.nextDiskCountAt) return
        const { diskAtStart, diskMb, names, pid } = container
        const tolerance = computeDiskTolerance(diskMb, diskAtStart)
        // Of another host the process cannot be read, and has none.
        const deleted = yield* measureDeletedFiles(pid)
        const { bytes, entries } = yield* measureVolume(engine, names.volume, tolerance - deleted)
        const endedAt = yield* Clock.currentTimeMillis
        observed.nextDiskCountAt = endedAt + computeDiskCountPause(endedAt - startedAt)
        if (!isOverLimit({ bytes: bytes + deleted, entries }, tolerance)) return
        const held =
          entries > maximumEntries ? `more than ${maximumEntries} files` : `${Math.round((bytes + deleted) / mib)} MB`
        yield* end(container, `it holds ${held} on the disk, more than the ${diskMb} MB it may`)
      })

    const checkMemory = (container: RunningContainer, memoryBytes: number | null) =>
      Effect.gen(function* () {
        const observed = observationsOf(container)
        const limit = container.memoryMb * mib
        const isHigh = memoryBytes !== null && memoryBytes > limit * memoryWarningShare
        if (isHigh && !observed.isMemoryHigh) {
          const message = `The instance uses ${Math.round(memoryBytes / mib)} of its ${container.memoryMb} MB of memory. It is ended at the limit.`
          yield* InstanceLogFile.appendHostLine(container.names, "warning", message)
        }
        observed.isMemoryHigh = isHigh
      })

    const checkHealth = (container: RunningContainer) =>
      Effect.gen(function* () {
        const observed = observationsOf(container)
        const figures = yield* readFigures(engine, container.id)
        const at = yield* Clock.currentTimeMillis
        if (Option.isSome(figures)) {
          observed.cpu = [{ cpuMs: figures.value.cpuMs, at }, ...observed.cpu.slice(0, 1)]
          yield* checkMemory(container, figures.value.memoryBytes)
        }
        // An adopted instance's token is unknown; a rejection is an answer too.
        const health = yield* probeHealth(client, container.instance.endpoint, Redacted.make("none"))
        observed.missedHealthChecks = health === "unresponsive" ? observed.missedHealthChecks + 1 : 0
        if (observed.missedHealthChecks >= maximumMissedHealthChecks) yield* end(container, "it does not answer")
      })

    const checkEvery = <E>(
      interval: Duration.DurationInput,
      check: (container: RunningContainer) => Effect.Effect<void, E>,
      concurrency: number
    ) =>
      Effect.suspend(() =>
        Effect.forEach(
          running.list(),
          (container) =>
            Effect.catchAllCause(check(container), (cause) =>
              Effect.logError("Instance check failed", cause).pipe(
                Effect.annotateLogs({ userId: container.instance.owner })
              )
            ),
          { concurrency, discard: true }
        )
      ).pipe(Effect.schedule(Schedule.spaced(interval)), Effect.forkScoped)

    yield* checkEvery(intervals.disk, checkDisk, 4)
    yield* checkEvery(intervals.health, checkHealth, 16)

    return {
      /** Percent of one core over the last seconds. */
      measureCpu: (container: RunningContainer, cpuMs: number) =>
        Effect.map(Clock.currentTimeMillis, (at) => {
          const samples = observations.get(container)?.cpu ?? []
          const before = samples.find((sample) => at - sample.at >= 1000) ?? {
            cpuMs: 0,
            at: container.instance.startedAt.epochMillis
          }
          return computeCpuPercent(before, { cpuMs, at })
        })
    }
  })
export type ContainerMonitor = Effect.Effect.Success<ReturnType<typeof make>>
