import { InstanceDriver, type InstanceHostUnavailable } from "@berth/domain/instances/InstanceDriver"
import type { AgentId } from "@berth/domain/shared/AgentId"
import type { UserId } from "@berth/domain/shared/UserId"
import * as HttpClient from "@effect/platform/HttpClient"
import { Effect, Option, type Scope } from "effect"
import { mkdir, rm } from "node:fs/promises"
import * as RuntimeClient from "../../runtime/RuntimeClient.ts"
import { stopAll, toHostUnavailable } from "../HostFailure.ts"
import { type FileOperationFailed, tryFileOperation } from "../HostFiles.ts"
import * as ContainerMonitor from "./ContainerMonitor.ts"
import * as ContainerReports from "./ContainerReports.ts"
import * as ContainerStart from "./ContainerStart.ts"
import type { DockerEngine } from "./DockerEngine.ts"
import { type EngineError, EngineUnsafe } from "./EngineErrors.ts"
import * as InstanceContainers from "./InstanceContainers.ts"
import * as RunningContainers from "./RunningContainers.ts"
import * as VolumeUsage from "./VolumeUsage.ts"

export interface DockerInstanceDriverOptions {
  readonly engine: DockerEngine
  /** Separates this installation's containers from those of others on the engine. */
  readonly installation: string
  /** Name of the network of instances. */
  readonly network: string
  /** Name of the newest runtime image. */
  readonly image: string
  /** One directory per owner, for logs: `DATA_DIR/instances`. */
  readonly directory: string
  /** Whether the containers outlive the driver; a later backend adopts them. */
  readonly onClose: "leave" | "stop"
  readonly intervals?: Partial<ContainerMonitor.ContainerMonitorIntervals>
}

/** Refuses an engine that would run instances without system call filters. */
const requireSeccomp = (engine: DockerEngine) =>
  Effect.filterOrFail(
    engine.info,
    ({ SecurityOptions }) =>
      SecurityOptions?.some((option) => /name=seccomp/.test(option) && !/profile=unconfined/.test(option)) === true,
    () =>
      new EngineUnsafe({
        reason:
          "The Docker Engine runs containers without a seccomp profile. Remove `seccomp-profile` from its configuration."
      })
  )

/** Instances as hardened containers on a Docker Engine, which outlive the backend. */
export const make = (
  options: DockerInstanceDriverOptions
): Effect.Effect<
  InstanceDriver["Type"],
  EngineError | EngineUnsafe | FileOperationFailed,
  HttpClient.HttpClient | Scope.Scope
> =>
  Effect.gen(function* () {
    const { engine, installation, network } = options
    yield* requireSeccomp(engine)
    yield* tryFileOperation(`making ${options.directory}`, () =>
      mkdir(options.directory, { recursive: true, mode: 0o711 })
    )
    const client = RuntimeClient.make(yield* HttpClient.HttpClient)
    const containers = InstanceContainers.make(options)
    const running = yield* RunningContainers.make({ engine, containers, installation, network })
    const intervals = { ...ContainerMonitor.defaultContainerMonitorIntervals, ...options.intervals }
    const volumes = yield* VolumeUsage.make(engine, intervals.disk)
    const starts = ContainerStart.make({ engine, containers, running, client, volumes })
    const monitor = yield* ContainerMonitor.make({ engine, running, client, volumes, intervals })
    const reports = ContainerReports.make({ engine, containers, running, client, monitor, adopt: starts.adopt })

    /** Does nothing for an id that names no container. */
    const withNames = <A, E extends Error>(
      owner: UserId,
      work: (names: InstanceContainers.InstanceNames) => Effect.Effect<A, E>
    ): Effect.Effect<void, InstanceHostUnavailable> =>
      Effect.gen(function* () {
        yield* Effect.annotateCurrentSpan({ "user.id": owner })
        const names = containers.namesOf(owner)
        if (Option.isSome(names))
          yield* Effect.mapError(running.withOwnerLock(owner, work(names.value)), toHostUnavailable)
      })

    const stop = Effect.fn("InstanceDriver.stop")((owner: UserId) => withNames(owner, starts.end))
    const remove = Effect.fn("InstanceDriver.remove")((owner: UserId) =>
      withNames(owner, (names) =>
        Effect.gen(function* () {
          yield* starts.end(names)
          yield* containers.removeAll(names)
          yield* tryFileOperation(`removing ${names.directory}`, () =>
            rm(names.directory, { recursive: true, force: true })
          )
        })
      )
    )
    const removeOtherAgents = Effect.fn("InstanceDriver.removeOtherAgents")(
      (owner: UserId, kept: ReadonlyArray<AgentId>) =>
        withNames(owner, (names) => containers.removeOtherAgents(names, kept))
    )

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
      listOwners: Effect.mapError(containers.listOwners, toHostUnavailable).pipe(
        Effect.withSpan("InstanceDriver.listOwners")
      ),
      ...reports,
      exits: running.exits
    })
  })
