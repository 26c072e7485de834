import type { RunningInstance } from "@berth/domain/instances/InstanceDriver"
import { type RuntimeLogEntry, type RuntimeLogQuery, selectLogPage } from "@berth/domain/instances/RuntimeLog"
import type { UserId } from "@berth/domain/shared/UserId"
import { Array, DateTime, Effect, Option, Order, Redacted } from "effect"
import type { RuntimeClient } from "../../runtime/RuntimeClient.ts"
import { probeHealth } from "../HealthProbe.ts"
import { toHostUnavailable } from "../HostFailure.ts"
import * as InstanceLogFile from "../InstanceLogFile.ts"
import { parseLogEntries } from "../LogLines.ts"
import type { ClusterClient } from "./ClusterClient.ts"
import { containerName } from "./InstanceManifests.ts"
import type { PodNames } from "./PodNames.ts"
import { findAccepted, type InstanceObjects } from "./InstanceObjects.ts"
import type { PodStart } from "./PodStart.ts"
import { readPodFigures, readPodState } from "./PodState.ts"
import type { RunningPods } from "./RunningPods.ts"

export interface PodReportsOptions {
  readonly client: ClusterClient
  readonly objects: InstanceObjects
  readonly running: RunningPods
  readonly runtime: RuntimeClient
  readonly adopt: PodStart["adopt"]
}

const byTime: Order.Order<RuntimeLogEntry> = Order.mapInput(DateTime.Order, ({ timestamp }) => timestamp)

/** The state, the logs and the figures of instances. */
export const make = ({ adopt, client, objects, running, runtime }: PodReportsOptions) => {
  const findInstance = (names: PodNames) =>
    Effect.gen(function* () {
      const none = Option.none<RunningInstance>()
      const [found, pod] = yield* Effect.all([client.getStatefulSet(names.name), client.getPod(names.pod)], {
        concurrency: 2
      })
      const accepted = Option.flatMap(found, findAccepted)
      if (Option.isNone(pod) || Option.isNone(accepted)) return none
      const state = readPodState(pod.value)
      if (state._tag !== "Running") return none
      const health = yield* probeHealth(runtime, state.endpoint, Redacted.make("none"))
      return health === "unresponsive"
        ? none
        : Option.some(yield* adopt(names, pod.value, state, accepted.value.runtimeVersion))
    })

  /** Called before every turn: no call to the API server for a registered instance. */
  const inspect = Effect.fn("InstanceDriver.inspect")(function* (owner: UserId) {
    const registered = running.get(owner)
    if (Option.isSome(registered)) return Option.some(registered.value.instance)
    const names = objects.namesOf(owner)
    return Option.isNone(names)
      ? Option.none<RunningInstance>()
      : yield* Effect.mapError(running.withOwnerLock(owner, findInstance(names.value)), toHostUnavailable)
  })

  const logs = Effect.fn("InstanceDriver.logs")(function* (owner: UserId, query: RuntimeLogQuery) {
    const names = objects.namesOf(owner)
    if (Option.isNone(names)) return { entries: [], total: 0 }
    const [host, own] = yield* Effect.mapError(
      Effect.all([InstanceLogFile.readEntries(names.value), client.readLog(names.value.pod, containerName)], {
        concurrency: 2
      }),
      toHostUnavailable
    )
    const pod = Option.match(own, { onNone: () => [], onSome: parseLogEntries })
    return selectLogPage(Array.sort([...host, ...pod], byTime), query)
  })

  /** Without a metrics server, or the right to read it, there are no figures. */
  const readFigures = ({ pod }: PodNames) =>
    client.readMetrics(pod).pipe(
      Effect.map(Option.flatMap(readPodFigures)),
      Effect.catchTags({
        ClusterAccessForbidden: () => Effect.succeedNone,
        ClusterRequestRejected: () => Effect.succeedNone
      }),
      Effect.map(Option.getOrElse(() => ({ cpuPercent: null, memoryBytes: null })))
    )

  const stats = Effect.fn("InstanceDriver.stats")(function* (owner: UserId) {
    yield* inspect(owner)
    const pod = running.get(owner)
    if (Option.isNone(pod)) return Option.none()
    const { instance, memoryMb, names } = pod.value
    return Option.some({
      ...(yield* Effect.mapError(readFigures(names), toHostUnavailable)),
      memoryLimitBytes: memoryMb * 1024 * 1024,
      // The metrics API has neither.
      networkReceivedBytes: null,
      networkSentBytes: null,
      pids: null,
      startedAt: instance.startedAt
    })
  })

  return { inspect, logs, stats }
}
