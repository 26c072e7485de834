import type { InstanceDriver } from "@berth/domain/instances/InstanceDriver"
import * as HttpClient from "@effect/platform/HttpClient"
import { Effect, Option, type Scope } from "effect"
import { mkdir } from "node:fs/promises"
import * as RuntimeClient from "../../runtime/RuntimeClient.ts"
import * as PlatformDriver from "../PlatformDriver.ts"
import { type FileOperationFailed, tryFileOperation } from "../HostFiles.ts"
import { readFigures } from "./ContainerFigures.ts"
import * as ContainerMonitor from "./ContainerMonitor.ts"
import * as ContainerStart from "./ContainerStart.ts"
import type { DockerEngine } from "./DockerEngine.ts"
import { type EngineError, EngineUnsafe } from "./EngineErrors.ts"
import * as InstanceContainers from "./InstanceContainers.ts"
import * as RunningContainers from "./RunningContainers.ts"
import * as VolumeUsage from "./VolumeUsage.ts"

interface DockerInstanceDriverOptions {
  readonly engine: DockerEngine
  /** Distinguishes this installation's containers from others on the engine. */
  readonly installation: string
  readonly network: string
  /** Name of the newest runtime image. */
  readonly image: string
  /** One directory per owner, for logs: `DATA_DIR/instances`. */
  readonly directory: string
  /** Whether the containers outlive the driver; a later backend adopts them. */
  readonly onClose: "leave" | "stop"
  readonly intervals?: Partial<ContainerMonitor.ContainerMonitorIntervals>
}

/** Rejects an engine that would run instances without system call filters. */
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

/** Instances as hardened containers on a Docker Engine. They outlive the backend. */
export const make = Effect.fnUntraced(function* (
  options: DockerInstanceDriverOptions
): Effect.fn.Return<
  InstanceDriver["Type"],
  EngineError | EngineUnsafe | FileOperationFailed,
  HttpClient.HttpClient | Scope.Scope
> {
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

  return yield* PlatformDriver.make(
    {
      unit: "container",
      running,
      namesOf: containers.namesOf,
      ...starts,
      removeAll: containers.removeAll,
      removeOtherAgents: containers.removeOtherAgents,
      listOwners: containers.listOwners,
      listRunning: containers.listRunning,
      readLog: (names) => PlatformDriver.readContainerLog(names, engine.readLog(names.container)),
      readFigures: (container) =>
        Effect.flatMap(
          readFigures(engine, container.id),
          Option.match({
            onNone: () => Effect.succeed({}),
            onSome: ({ cpuMs, ...figures }) =>
              Effect.map(monitor.measureCpu(container, cpuMs), (cpuPercent) => ({ ...figures, cpuPercent }))
          })
        ).pipe(Effect.map((figures) => PlatformDriver.makeContainerFigures(container.memoryMb, figures)))
    },
    options
  )
})
