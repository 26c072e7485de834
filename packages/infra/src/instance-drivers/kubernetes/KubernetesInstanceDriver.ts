import type { InstanceDriver } from "@berth/domain/instances/InstanceDriver"
import * as HttpClient from "@effect/platform/HttpClient"
import { Deferred, type Duration, Effect, Option, type Scope } from "effect"
import { mkdir } from "node:fs/promises"
import * as RuntimeClient from "../../runtime/RuntimeClient.ts"
import * as PlatformDriver from "../PlatformDriver.ts"
import { type FileOperationFailed, tryFileOperation } from "../HostFiles.ts"
import type { PermissionFlags } from "../NodeFlags.ts"
import * as ClusterClient from "./ClusterClient.ts"
import type { ClusterConnection } from "./ClusterConnection.ts"
import type { ClusterError } from "./ClusterErrors.ts"
import { makeBackendPeer } from "./BackendPeer.ts"
import type { PodNames } from "./PodNames.ts"
import { containerName } from "./InstanceManifests.ts"
import * as InstanceObjects from "./InstanceObjects.ts"
import * as PodMonitor from "./PodMonitor.ts"
import * as PodStart from "./PodStart.ts"
import { readPodFigures } from "./PodState.ts"
import * as PodWatch from "./PodWatch.ts"
import * as RunningPods from "./RunningPods.ts"

interface KubernetesInstanceDriverOptions {
  readonly connection: ClusterConnection
  /** Runtime routes of the backend, as accessed by instances. */
  readonly backendUrl: URL
  /** Name of the newest runtime image. */
  readonly image: string
  /** Permission model of the image's Node.js. */
  readonly permission: PermissionFlags
  /** One directory per owner, for logs: `DATA_DIR/instances`. */
  readonly directory: string
  /** Whether the pods outlive the driver; a later backend adopts them. */
  readonly onClose: "leave" | "stop"
  readonly intervals?: Partial<PodMonitor.PodMonitorIntervals>
  readonly podTimeout?: Duration.Duration
}

/** Without a metrics server, or permission to read it, there are no figures. The metrics API lacks the last three. */
const readFigures = (client: ClusterClient.ClusterClient, { pod }: PodNames) =>
  client.readMetrics(pod).pipe(
    Effect.map(Option.flatMap(readPodFigures)),
    Effect.catchTags({
      ClusterAccessForbidden: () => Effect.succeedNone,
      ClusterRequestRejected: () => Effect.succeedNone
    }),
    Effect.map(Option.getOrElse(() => ({})))
  )

/** Instances as hardened pods in a namespace of a Kubernetes cluster. They outlive the backend. */
export const make = Effect.fnUntraced(function* (
  options: KubernetesInstanceDriverOptions
): Effect.fn.Return<InstanceDriver["Type"], ClusterError | FileOperationFailed, HttpClient.HttpClient | Scope.Scope> {
  const { backendUrl, connection } = options
  yield* tryFileOperation(`making ${options.directory}`, () =>
    mkdir(options.directory, { recursive: true, mode: 0o711 })
  )
  const client = ClusterClient.make(connection)
  const runtime = RuntimeClient.make(yield* HttpClient.HttpClient)
  const runningPods = yield* Deferred.make<RunningPods.RunningPods>()
  const watch = yield* PodWatch.make(
    client,
    Effect.flatMap(Deferred.await(runningPods), ({ checkAll }) => checkAll)
  )
  const objects = InstanceObjects.make({
    ...options,
    client,
    watch,
    backend: makeBackendPeer(backendUrl, client.namespace)
  })
  const running = yield* RunningPods.make({ client, objects, watch })
  yield* Deferred.succeed(runningPods, running)
  const starts = PodStart.make({
    client,
    objects,
    running,
    runtime,
    podTimeout: options.podTimeout ?? PodStart.defaultPodTimeout
  })
  yield* PodMonitor.make({
    client,
    running,
    runtime,
    intervals: { ...PodMonitor.defaultPodMonitorIntervals, ...options.intervals }
  })

  // Fails at the start for a wrong address, missing permissions and a missing namespace.
  yield* objects.listOwners
  return yield* PlatformDriver.make(
    {
      unit: "pod",
      running,
      namesOf: objects.namesOf,
      ...starts,
      removeAll: objects.removeAll,
      removeOtherAgents: objects.removeOtherAgents,
      listOwners: objects.listOwners,
      listRunning: objects.listRunning,
      readLog: (names) => PlatformDriver.readContainerLog(names, client.readLog(names.pod, containerName)),
      readFigures: ({ memoryMb, names }) =>
        Effect.map(readFigures(client, names), (figures) => PlatformDriver.makeContainerFigures(memoryMb, figures))
    },
    options
  )
})
