import type { RunningInstance } from "@berth/domain/instances/InstanceDriver"
import { Duration, Effect, Option, Schedule, Stream } from "effect"
import * as InstanceRegistry from "../InstanceRegistry.ts"
import { describeContainerExit, readExitMessage } from "./ContainerExit.ts"
import { runtimePort } from "../RuntimeImage.ts"
import { findLimits, findRuntimeVersion, installationLabels } from "./ContainerProfile.ts"
import type { DockerEngine } from "./DockerEngine.ts"
import type { ContainerInspection } from "./EngineModels.ts"
import type { InstanceContainers, ContainerNames } from "./InstanceContainers.ts"

export interface RunningContainer {
  readonly instance: RunningInstance
  readonly names: ContainerNames
  readonly id: string
  /** Process id on the host of the engine. */
  readonly pid: number
  readonly memoryMb: number
  readonly diskMb: number
  /** Bytes of the volume before the start; for an adopted container, at the adoption. */
  readonly diskAtStart: number
}

interface RunningContainersOptions {
  readonly engine: DockerEngine
  readonly containers: InstanceContainers
  readonly installation: string
  readonly network: string
}

/** Returns the address of a container's runtime; none before it has an address. */
export const findEndpoint = (
  { NetworkSettings: { Networks } }: ContainerInspection,
  network: string
): Option.Option<string> =>
  Option.map(
    Option.liftPredicate(Networks[network]?.IPAddress ?? "", (address) => address !== ""),
    (address) => `http://${address}:${runtimePort}`
  )

const reconnectInterval = Duration.seconds(1)

/** Containers of this driver, their exits, and one lock per owner. */
export const make = ({ containers, engine, installation, network }: RunningContainersOptions) =>
  Effect.gen(function* () {
    const registry = yield* InstanceRegistry.make<RunningContainer>(({ names }) => names)

    const checkExit = Effect.fnUntraced(function* (container: RunningContainer) {
      const details = yield* engine.inspectContainer(container.id)
      if (Option.exists(details, ({ State }) => State.Running) || !registry.isRegistered(container)) return
      const reason = Option.isNone(details)
        ? Effect.succeed("its container was removed")
        : Effect.map(readExitMessage(engine, details.value), (line) =>
            describeContainerExit(details.value.State, container.memoryMb, line)
          )
      registry.unregister(container.instance.owner)
      yield* registry.publishExit(container, yield* reason)
    })

    const checkAll = Effect.suspend(() => Effect.forEach(registry.list(), checkExit, { concurrency: 4, discard: true }))
    // Events only wake the driver; the states of containers are authoritative, and are read again after each
    // connection.
    yield* engine.containerEnds(installationLabels(installation)).pipe(
      Stream.runForEach(
        Option.match({
          onNone: () => checkAll,
          onSome: ({ Actor }) =>
            Effect.forEach(
              registry.list().filter(({ id }) => id === Actor.ID),
              checkExit,
              { discard: true }
            )
        })
      ),
      Effect.catchAll(({ message }) =>
        Effect.logWarning("Docker events interrupted").pipe(Effect.annotateLogs({ reason: message }))
      ),
      Effect.repeat(Schedule.spaced(reconnectInterval)),
      Effect.forkScoped
    )

    const register = (
      names: ContainerNames,
      inspected: ContainerInspection,
      readiness: { readonly endpoint: string; readonly runtimeVersion?: string; readonly diskAtStart: number }
    ): RunningInstance => {
      const { Config, Id, State } = inspected
      const { diskAtStart, endpoint, runtimeVersion = findRuntimeVersion(Config.Labels) } = readiness
      const { owner } = names
      const instance = { owner, endpoint, startedAt: State.StartedAt, runtimeVersion }
      return registry.register({
        instance,
        names,
        id: Id,
        pid: State.Pid,
        ...findLimits(Config.Labels),
        diskAtStart
      })
    }

    return {
      ...registry,
      network,
      register,
      /** Ends an exited container with the reason of its exit. */
      endWithReason: (container: RunningContainer, reason: string) =>
        checkExit(container).pipe(
          Effect.catchAll(({ message }) =>
            Effect.logWarning("Container check failed").pipe(
              Effect.annotateLogs({ userId: container.instance.owner, reason: message })
            )
          ),
          Effect.zipRight(registry.endWithReason(container, containers.stop(container.id), reason))
        )
    }
  })
export type RunningContainers = Effect.Effect.Success<ReturnType<typeof make>>
