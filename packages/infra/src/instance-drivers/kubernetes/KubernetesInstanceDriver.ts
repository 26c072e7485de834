import { InstanceDriver, type InstanceHostUnavailable } from "@berth/domain/instances/InstanceDriver"
import type { AgentId } from "@berth/domain/shared/AgentId"
import type { UserId } from "@berth/domain/shared/UserId"
import * as HttpClient from "@effect/platform/HttpClient"
import { Deferred, type Duration, Effect, Option, type Scope } from "effect"
import { mkdir, rm } from "node:fs/promises"
import * as RuntimeClient from "../../runtime/RuntimeClient.ts"
import { stopAll, toHostUnavailable } from "../HostFailure.ts"
import { type FileOperationFailed, tryFileOperation } from "../HostFiles.ts"
import type { PermissionFlags } from "../NodeFlags.ts"
import * as ClusterClient from "./ClusterClient.ts"
import type { ClusterConnection } from "./ClusterConnection.ts"
import type { ClusterError } from "./ClusterErrors.ts"
import { makeBackendPeer } from "./BackendPeer.ts"
import type { PodNames } from "./PodNames.ts"
import * as InstanceObjects from "./InstanceObjects.ts"
import * as PodMonitor from "./PodMonitor.ts"
import * as PodReports from "./PodReports.ts"
import * as PodStart from "./PodStart.ts"
import * as PodWatch from "./PodWatch.ts"
import * as RunningPods from "./RunningPods.ts"

export interface KubernetesInstanceDriverOptions {
  readonly connection: ClusterConnection
  /** The backend's runtime routes as instances reach them. */
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

/** Instances as hardened pods in a namespace of a Kubernetes cluster, which outlive the backend. */
export const make = (
  options: KubernetesInstanceDriverOptions
): Effect.Effect<InstanceDriver["Type"], ClusterError | FileOperationFailed, HttpClient.HttpClient | Scope.Scope> =>
  Effect.gen(function* () {
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
    const reports = PodReports.make({ client, objects, running, runtime, adopt: starts.adopt })

    /** Does nothing for an id that names no pod. */
    const withNames = <A, E extends Error>(
      owner: UserId,
      work: (names: PodNames) => Effect.Effect<A, E>
    ): Effect.Effect<void, InstanceHostUnavailable> =>
      Effect.gen(function* () {
        yield* Effect.annotateCurrentSpan({ "user.id": owner })
        const names = objects.namesOf(owner)
        if (Option.isSome(names))
          yield* Effect.mapError(running.withOwnerLock(owner, work(names.value)), toHostUnavailable)
      })

    const stop = Effect.fn("InstanceDriver.stop")((owner: UserId) => withNames(owner, starts.end))
    const remove = Effect.fn("InstanceDriver.remove")((owner: UserId) =>
      withNames(owner, (names) =>
        Effect.gen(function* () {
          yield* starts.end(names)
          yield* objects.removeAll(names)
          yield* tryFileOperation(`removing ${names.directory}`, () =>
            rm(names.directory, { recursive: true, force: true })
          )
        })
      )
    )
    const removeOtherAgents = Effect.fn("InstanceDriver.removeOtherAgents")(
      (owner: UserId, kept: ReadonlyArray<AgentId>) =>
        withNames(owner, (names) => objects.removeOtherAgents(names, kept))
    )

    // A wrong address, missing rights and a missing namespace are reported at the start.
    yield* objects.listOwners
    yield* Effect.addFinalizer(() =>
      Effect.suspend(() => {
        const owners = running.list().map(({ instance }) => instance.owner)
        return options.onClose === "leave"
          ? Effect.logInfo("Instances left running").pipe(Effect.annotateLogs({ instances: owners.length }))
          : stopAll(owners, stop)
      })
    )

    return InstanceDriver.of({
      start: starts.start,
      update: starts.update,
      stop,
      remove,
      removeOtherAgents,
      listOwners: Effect.mapError(objects.listOwners, toHostUnavailable).pipe(
        Effect.withSpan("InstanceDriver.listOwners")
      ),
      ...reports,
      exits: running.exits
    })
  })
