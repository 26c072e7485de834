import type { InstanceExit, RunningInstance } from "@berth/domain/instances/InstanceDriver"
import type { UserId } from "@berth/domain/shared/UserId"
import { Duration, Effect, Option, PubSub, Schedule, Stream } from "effect"
import * as InstanceLogFile from "../InstanceLogFile.ts"
import * as OwnerLocks from "../OwnerLocks.ts"
import { describeContainerExit, readExitMessage } from "./ContainerExit.ts"
import { runtimePort } from "../RuntimeImage.ts"
import { findLimits, findRuntimeVersion, installationLabels } from "./ContainerProfile.ts"
import type { DockerEngine } from "./DockerEngine.ts"
import type { ContainerInspection } from "./EngineModels.ts"
import type { InstanceContainers, ContainerNames } from "./InstanceContainers.ts"

/** The container of a running instance. */
export interface RunningContainer {
  readonly instance: RunningInstance
  readonly names: ContainerNames
  readonly id: string
  /** Process id on the engine's host. */
  readonly pid: number
  readonly memoryMb: number
  readonly diskMb: number
  /** Bytes of the volume before the start; of an adopted container, at its adoption. */
  readonly diskAtStart: number
}

export interface RunningContainersOptions {
  readonly engine: DockerEngine
  readonly containers: InstanceContainers
  readonly installation: string
  readonly network: string
}

/** The address of a container's runtime; none while it has no address. */
export const findEndpoint = (
  { NetworkSettings: { Networks } }: ContainerInspection,
  network: string
): Option.Option<string> =>
  Option.map(
    Option.liftPredicate(Networks[network]?.IPAddress ?? "", (address) => address !== ""),
    (address) => `http://${address}:${runtimePort}`
  )

const reconnectInterval = Duration.seconds(1)

/** The containers of this driver, their exits, and one lock per owner. */
export const make = ({ containers, engine, installation, network }: RunningContainersOptions) =>
  Effect.gen(function* () {
    const running = new Map<UserId, RunningContainer>()
    const exits = yield* PubSub.unbounded<InstanceExit>()
    const withOwnerLock = yield* OwnerLocks.make

    const isRegistered = (container: RunningContainer) => running.get(container.instance.owner) === container

    const publish = (container: RunningContainer, reason: string, hostLine: string) =>
      Effect.gen(function* () {
        const { owner } = container.instance
        yield* Effect.logWarning("Instance exited").pipe(Effect.annotateLogs({ userId: owner, reason }))
        yield* InstanceLogFile.appendHostLine(container.names, "error", hostLine)
        yield* PubSub.publish(exits, { owner, reason })
      })

    /** Publishes an exit that was not requested: a requested one is preceded by `unregister`. */
    const checkExit = (container: RunningContainer) =>
      Effect.gen(function* () {
        const found = yield* engine.inspectContainer(container.id)
        if (Option.exists(found, ({ State }) => State.Running) || !isRegistered(container)) return
        running.delete(container.instance.owner)
        const reason = Option.isNone(found)
          ? "its container was removed"
          : describeContainerExit(found.value.State, container.memoryMb, yield* readExitMessage(engine, found.value))
        yield* publish(container, reason, `The instance exited: ${reason}`)
      })

    /** Ends a container that must not go on. Published as an exit. */
    const endWithReason = (container: RunningContainer, reason: string) =>
      Effect.gen(function* () {
        const { owner } = container.instance
        if (!isRegistered(container)) return
        running.delete(owner)
        yield* Effect.tapError(containers.stop(container.id), () => Effect.sync(() => running.set(owner, container)))
        yield* publish(container, reason, `The instance was ended: ${reason}.`)
      }).pipe(
        Effect.catchAll(({ message }) =>
          Effect.logWarning("Instance not ended").pipe(
            Effect.annotateLogs({ userId: container.instance.owner, reason: message })
          )
        ),
        Effect.uninterruptible,
        (work) => withOwnerLock(container.instance.owner, work)
      )

    const checkAll = Effect.suspend(() =>
      Effect.forEach([...running.values()], checkExit, { concurrency: 4, discard: true })
    )
    // The events wake the driver; the containers' states are the truth, read again after each connection.
    yield* engine.containerEnds(installationLabels(installation)).pipe(
      Stream.runForEach(
        Option.match({
          onNone: () => checkAll,
          onSome: ({ Actor }) =>
            Effect.forEach(
              [...running.values()].filter(({ id }) => id === Actor.ID),
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
      given: { readonly endpoint: string; readonly runtimeVersion?: string; readonly diskAtStart: number }
    ): RunningInstance => {
      const { Config, Id, State } = inspected
      const { diskAtStart, endpoint, runtimeVersion = findRuntimeVersion(Config.Labels) } = given
      const { owner } = names
      const instance = { owner, endpoint, startedAt: State.StartedAt, runtimeVersion }
      running.set(owner, { instance, names, id: Id, pid: State.Pid, ...findLimits(Config.Labels), diskAtStart })
      return instance
    }

    return {
      network,
      exits: Stream.fromPubSub(exits),
      list: () => [...running.values()],
      get: (owner: UserId) => Option.fromNullable(running.get(owner)),
      /** From here on the exit of the owner's container is not published. */
      unregister: (owner: UserId) => void running.delete(owner),
      register,
      endWithReason,
      withOwnerLock
    }
  })
export type RunningContainers = Effect.Effect.Success<ReturnType<typeof make>>
