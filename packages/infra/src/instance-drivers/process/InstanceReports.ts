import type { RunningInstance } from "@berth/domain/instances/InstanceDriver"
import { type RuntimeLogQuery, selectLogPage } from "@berth/domain/instances/RuntimeLog"
import type { UserId } from "@berth/domain/shared/UserId"
import { Effect, Option } from "effect"
import type { RuntimeClient } from "../../runtime/RuntimeClient.ts"
import { toHostUnavailable } from "../HostFailure.ts"
import { type InstanceDirectory, resolveInstanceDirectory } from "./InstanceDirectory.ts"
import * as InstanceLogFile from "../InstanceLogFile.ts"
import type { InstanceMonitor } from "./InstanceMonitor.ts"
import { probeInstance } from "./InstanceProbe.ts"
import { readProcessMetrics } from "./ProcessMetrics.ts"
import type { RunningProcesses } from "./RunningProcesses.ts"
import { withExportedSpan } from "@berth/domain/shared/SpanExport"

export interface InstanceReportsOptions {
  readonly root: string
  readonly client: RuntimeClient
  readonly processes: RunningProcesses
  readonly monitor: InstanceMonitor
}

/** State, logs and figures of instances. */
export const make = ({ client, monitor, processes, root }: InstanceReportsOptions) => {
  const findInstance = (owner: UserId, directory: InstanceDirectory) =>
    Effect.gen(function* () {
      const running = yield* processes.findRunning(owner)
      if (Option.isSome(running)) return running
      const found = yield* probeInstance(client, directory, Option.none())
      return found.process === "same" && found.health !== "unresponsive"
        ? yield* processes.adopt(owner, directory, found)
        : Option.none<RunningInstance>()
    })

  const inspect = Effect.fnUntraced(function* (owner: UserId) {
    const running = yield* processes.findRunning(owner)
    if (Option.isSome(running)) return running
    const directory = resolveInstanceDirectory(root, owner)
    return Option.isNone(directory)
      ? running
      : yield* Effect.mapError(processes.withOwnerLock(owner, findInstance(owner, directory.value)), toHostUnavailable)
  }, withExportedSpan("InstanceDriver.inspect"))

  const logs = Effect.fn("InstanceDriver.logs")(function* (owner: UserId, query: RuntimeLogQuery) {
    const directory = resolveInstanceDirectory(root, owner)
    return Option.isNone(directory)
      ? { entries: [], total: 0 }
      : yield* InstanceLogFile.readEntries(directory.value).pipe(
          monitor.withLogLock,
          Effect.map((entries) => selectLogPage(entries, query)),
          Effect.mapError(toHostUnavailable)
        )
  })

  const stats = Effect.fn("InstanceDriver.stats")(function* (owner: UserId) {
    yield* inspect(owner)
    const found = processes.get(owner)
    if (Option.isNone(found)) return Option.none()
    const process = found.value
    const figures = Option.getOrNull(yield* readProcessMetrics(process.pid))
    const cpuPercent = figures === null ? null : yield* monitor.measureCpu(process, figures.cpuMs)
    return Option.some({
      cpuPercent,
      memoryBytes: figures?.residentBytes ?? null,
      memoryLimitBytes: Option.getOrNull(Option.map(process.startedWith, ({ memoryMb }) => memoryMb * 1024 * 1024)),
      // A process has no separate network to measure.
      networkReceivedBytes: null,
      networkSentBytes: null,
      pids: figures?.threads ?? null,
      startedAt: process.instance.startedAt
    })
  })

  return { inspect, logs, stats }
}
