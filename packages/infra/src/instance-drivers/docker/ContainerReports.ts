import type { RunningInstance } from "@berth/domain/instances/InstanceDriver"
import { type RuntimeLogEntry, type RuntimeLogQuery, selectLogPage } from "@berth/domain/instances/RuntimeLog"
import type { UserId } from "@berth/domain/shared/UserId"
import { Array, DateTime, Effect, Option, Order, Redacted } from "effect"
import type { RuntimeClient } from "../../runtime/RuntimeClient.ts"
import { probeHealth } from "../HealthProbe.ts"
import { toHostUnavailable } from "../HostFailure.ts"
import * as InstanceLogFile from "../InstanceLogFile.ts"
import { parseLogEntries } from "../LogLines.ts"
import { readFigures } from "./ContainerFigures.ts"
import type { ContainerMonitor } from "./ContainerMonitor.ts"
import type { DockerEngine } from "./DockerEngine.ts"
import type { InstanceContainers, InstanceNames } from "./InstanceContainers.ts"
import { findEndpoint, type RunningContainers } from "./RunningContainers.ts"
import type * as ContainerStart from "./ContainerStart.ts"

export interface ContainerReportsOptions {
  readonly engine: DockerEngine
  readonly containers: InstanceContainers
  readonly running: RunningContainers
  readonly client: RuntimeClient
  readonly monitor: ContainerMonitor
  readonly adopt: ReturnType<typeof ContainerStart.make>["adopt"]
}

const byTime: Order.Order<RuntimeLogEntry> = Order.mapInput(DateTime.Order, ({ timestamp }) => timestamp)

/** The state, the logs and the figures of instances. */
export const make = ({ adopt, client, containers, engine, monitor, running }: ContainerReportsOptions) => {
  const findInstance = (names: InstanceNames) =>
    Effect.gen(function* () {
      const registered = running.get(names.owner)
      if (Option.isSome(registered)) return Option.some(registered.value.instance)
      const { current } = yield* containers.find(names)
      if (Option.isNone(current) || !current.value.State.Running) return Option.none<RunningInstance>()
      const endpoint = findEndpoint(current.value, running.network)
      if (Option.isNone(endpoint)) return Option.none<RunningInstance>()
      const health = yield* probeHealth(client, endpoint.value, Redacted.make("none"))
      return health === "unresponsive" ? Option.none<RunningInstance>() : yield* adopt(names, current.value)
    })

  /** Called before every turn: no call to the engine for a registered instance. */
  const inspect = Effect.fn("InstanceDriver.inspect")(function* (owner: UserId) {
    const registered = running.get(owner)
    if (Option.isSome(registered)) return Option.some(registered.value.instance)
    const names = containers.namesOf(owner)
    return Option.isNone(names)
      ? Option.none<RunningInstance>()
      : yield* Effect.mapError(running.withOwnerLock(owner, findInstance(names.value)), toHostUnavailable)
  })

  const logs = Effect.fn("InstanceDriver.logs")(function* (owner: UserId, query: RuntimeLogQuery) {
    const names = containers.namesOf(owner)
    if (Option.isNone(names)) return { entries: [], total: 0 }
    const [host, own] = yield* Effect.mapError(
      Effect.all([InstanceLogFile.readEntries(names.value), engine.readLog(names.value.container)], { concurrency: 2 }),
      toHostUnavailable
    )
    const container = Option.match(own, { onNone: () => [], onSome: parseLogEntries })
    return selectLogPage(Array.sort([...host, ...container], byTime), query)
  })

  const stats = Effect.fn("InstanceDriver.stats")(function* (owner: UserId) {
    yield* inspect(owner)
    const container = running.get(owner)
    if (Option.isNone(container)) return Option.none()
    const figures = yield* Effect.mapError(readFigures(engine, container.value.id), toHostUnavailable)
    const cpuPercent = Option.isNone(figures) ? null : yield* monitor.measureCpu(container.value, figures.value.cpuMs)
    const { memoryBytes, networkReceivedBytes, networkSentBytes, pids } = Option.getOrElse(figures, () => ({
      memoryBytes: null,
      networkReceivedBytes: null,
      networkSentBytes: null,
      pids: null
    }))
    return Option.some({
      cpuPercent,
      memoryBytes,
      memoryLimitBytes: container.value.memoryMb * 1024 * 1024,
      networkReceivedBytes,
      networkSentBytes,
      pids,
      startedAt: container.value.instance.startedAt
    })
  })

  return { inspect, logs, stats }
}
