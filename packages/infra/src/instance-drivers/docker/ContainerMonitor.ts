import { Clock, type Duration, Effect, Option } from "effect"
import type { RuntimeClient } from "../../runtime/RuntimeClient.ts"
import { computeDiskCountPause, computeDiskTolerance, isOverLimit, measureDeletedFiles } from "../DiskUsage.ts"
import * as InstanceChecks from "../InstanceChecks.ts"
import { readFigures } from "./ContainerFigures.ts"
import type { DockerEngine } from "./DockerEngine.ts"
import type { RunningContainer, RunningContainers } from "./RunningContainers.ts"
import type { VolumeUsage } from "./VolumeUsage.ts"

export interface ContainerMonitorIntervals {
  readonly disk: Duration.DurationInput
  readonly health: Duration.DurationInput
}

export const defaultContainerMonitorIntervals: ContainerMonitorIntervals = { disk: "5 seconds", health: "10 seconds" }

interface ContainerMonitorOptions {
  readonly engine: DockerEngine
  readonly running: RunningContainers
  readonly client: RuntimeClient
  readonly volumes: VolumeUsage
  readonly intervals: ContainerMonitorIntervals
}

/** Detects instances that hang, fill their disk or approach their memory limit; runs until the scope closes. */
export const make = ({ client, engine, intervals, running, volumes }: ContainerMonitorOptions) =>
  Effect.gen(function* () {
    const { list, endWithReason } = running
    const checks = yield* InstanceChecks.make({ list, endWithReason, client, logOf: ({ names }) => names })
    const nextDiskCounts = new WeakMap<RunningContainer, number>()

    const checkDisk = Effect.fnUntraced(function* (container: RunningContainer) {
      const startedAt = yield* Clock.currentTimeMillis
      if (startedAt < (nextDiskCounts.get(container) ?? 0)) return
      const { diskAtStart, diskMb, names, pid } = container
      const tolerance = computeDiskTolerance(diskMb, diskAtStart)
      // None if the process is on another host.
      const deleted = yield* measureDeletedFiles(pid)
      const { bytes, entries } = yield* volumes.measure(names.volume, tolerance - deleted)
      const endedAt = yield* Clock.currentTimeMillis
      nextDiskCounts.set(container, endedAt + computeDiskCountPause(endedAt - startedAt))
      const usage = { bytes: bytes + deleted, entries }
      if (isOverLimit(usage, tolerance)) yield* checks.endOverDisk(container, usage, diskMb)
    })

    const checkHealth = Effect.fnUntraced(function* (container: RunningContainer) {
      const figures = yield* readFigures(engine, container.id)
      if (Option.isSome(figures)) {
        const { cpuMs, memoryBytes } = figures.value
        yield* checks.recordCpu(container, cpuMs)
        if (memoryBytes !== null) yield* checks.checkMemory(container, memoryBytes, container.memoryMb)
      }
      yield* checks.checkHealth(container)
    })

    yield* checks.checkEvery(intervals.disk, checkDisk, 4)
    yield* checks.checkEvery(intervals.health, checkHealth, 16)
    return { measureCpu: checks.measureCpu }
  })
