import { runtimeAgentsDirectory, runtimeDrainSeconds } from "@berth/api/runtime/RuntimeContract"
import type { InstanceSpec } from "@berth/domain/instances/InstanceDriver"
import type { AgentId } from "@berth/domain/shared/AgentId"
import { UserId } from "@berth/domain/shared/UserId"
import { Duration, Effect, Option, type Redacted } from "effect"
import { mkdir } from "node:fs/promises"
import { join } from "node:path"
import type { InstanceNames } from "../PlatformDriver.ts"
import { listOtherAgents } from "../AgentFiles.ts"
import { tryFileOperation } from "../HostFiles.ts"
import * as InstanceLogFile from "../InstanceLogFile.ts"
import { homeName, InstanceTaskFailed, instanceHome, makeRemovalCommand, volumePath } from "../RuntimeImage.ts"
import {
  findOwner,
  installationLabels,
  makeContainerProfile,
  makeTaskProfile,
  ownerLabels
} from "./ContainerProfile.ts"
import type { DockerEngine } from "./DockerEngine.ts"
import { type EngineError, RuntimeImageMissing } from "./EngineErrors.ts"
import type { ContainerInspection, ImageInspection } from "./EngineModels.ts"
import { makeStartFiles, writeToken } from "./StartFiles.ts"
import { makeTarArchive } from "./TarArchive.ts"
import { isReadable } from "./VolumeUsage.ts"

/** Names of an owner's objects on the engine, and the files of its log on the host. */
export interface ContainerNames extends InstanceNames {
  readonly volume: string
  readonly container: string
  /** A container that replaces the current one if accepted. */
  readonly candidate: string
  readonly task: string
}

interface InstanceContainersOptions {
  readonly engine: DockerEngine
  readonly installation: string
  readonly network: string
  /** Name of the newest runtime image. */
  readonly image: string
  /** One directory per owner, for logs. */
  readonly directory: string
}

interface OwnerContainers {
  readonly current: Option.Option<ContainerInspection>
  readonly candidate: Option.Option<ContainerInspection>
}

const candidateSuffix = ".next"
const terminationGrace = Duration.seconds(runtimeDrainSeconds + 1)
const taskTimeout = Duration.minutes(1)

const ownersOf = (labeled: ReadonlyArray<{ readonly Labels: Readonly<Record<string, string>> }>) =>
  [...new Set(labeled.flatMap(({ Labels }) => findOwner(Labels) ?? []))].map((owner) => UserId.make(owner))

/** Containers and volumes of instances on an engine. Their names and labels are the driver's complete state. */
export const make = ({ directory, engine, image, installation, network }: InstanceContainersOptions) => {
  /** None for an id that is not valid in a name. */
  const namesOf = (owner: UserId): Option.Option<ContainerNames> => {
    if (!/^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$/.test(owner)) return Option.none()
    const container = `berth-${installation}-${owner}`
    const path = join(directory, owner)
    return Option.some({
      owner,
      container,
      volume: container,
      candidate: `${container}${candidateSuffix}`,
      task: `${container}.task`,
      directory: path,
      log: join(path, "instance.log"),
      rotatedLog: join(path, "instance.log.1")
    })
  }

  const newestImage = Effect.flatMap(
    engine.inspectImage(image),
    Effect.mapError(() => new RuntimeImageMissing({ image }))
  )

  /** Finds the owner's containers. A candidate without a current container was accepted, so it is renamed. */
  const find = Effect.fnUntraced(function* (names: ContainerNames): Effect.fn.Return<OwnerContainers, EngineError> {
    const [current, candidate] = yield* Effect.all(
      [engine.inspectContainer(names.container), engine.inspectContainer(names.candidate)],
      { concurrency: 2 }
    )
    if (Option.isSome(current) || Option.isNone(candidate)) return { current, candidate }
    yield* engine.renameContainer(candidate.value.Id, names.container)
    return { current: candidate, candidate: Option.none() }
  })

  const placementOf = ({ volume }: ContainerNames) => ({ installation, network, volume })

  const makeProfile = (spec: InstanceSpec, names: ContainerNames, from: ImageInspection) =>
    makeContainerProfile(spec, from, placementOf(names))

  const create = Effect.fnUntraced(function* (
    spec: InstanceSpec,
    names: ContainerNames,
    from: ImageInspection,
    name: string
  ) {
    yield* tryFileOperation(`making ${names.directory}`, () => mkdir(names.directory, { recursive: true, mode: 0o700 }))
    yield* engine.createVolume(names.volume, ownerLabels(installation, names.owner))
    return yield* engine.createContainer(name, makeProfile(spec, names, from))
  })

  /**
   * Writes the home and the token into the volume: directly if the volume's home is on this host, else through the
   * engine, which takes 70 ms.
   */
  const putStartFiles = (id: string, token: Redacted.Redacted, volumeDirectory: Option.Option<string>) =>
    Option.match(volumeDirectory, {
      onNone: () => Effect.succeed(false),
      onSome: (directory) => writeToken(directory, token)
    }).pipe(
      Effect.flatMap((isWritten) =>
        isWritten ? Effect.void : engine.putArchive(id, volumePath, makeTarArchive(makeStartFiles(token)))
      )
    )

  const start = (id: string, token: Redacted.Redacted, volumeDirectory: Option.Option<string>) =>
    Effect.zipRight(putStartFiles(id, token, volumeDirectory), engine.startContainer(id))

  const stop = (id: string) => engine.stopContainer(id, terminationGrace)

  /** Removes a container after saving its log to the host's file. */
  const discard = Effect.fnUntraced(function* (names: ContainerNames, id: string) {
    const log = Option.getOrElse(yield* engine.readLog(id), () => "")
    if (log !== "") yield* InstanceLogFile.append(names, `${log.replace(/\n$/, "")}\n`)
    yield* engine.removeContainer(id)
  })

  /** Returns the image of a container if the engine still has it, else the newest image. */
  const imageOf = Effect.fnUntraced(function* (current: Option.Option<ContainerInspection>) {
    const pinned = Option.isSome(current) ? yield* engine.inspectImage(current.value.Image) : Option.none()
    return Option.isSome(pinned) ? pinned.value : yield* newestImage
  })

  const runTask = Effect.fnUntraced(function* (names: ContainerNames, command: ReadonlyArray<string>) {
    if (Option.isNone(yield* engine.inspectVolume(names.volume))) return
    const image = yield* imageOf(yield* engine.inspectContainer(names.container))
    const profile = makeTaskProfile(image, { installation, volume: names.volume }, command)
    // A killed backend may have left a task.
    yield* engine.removeContainer(names.task)
    yield* Effect.acquireUseRelease(
      engine.createContainer(names.task, profile),
      (id) =>
        Effect.gen(function* () {
          yield* engine.startContainer(id)
          const code = yield* engine.waitForExit(id, taskTimeout)
          if (code === 0) return
          const log = Option.getOrElse(yield* engine.readLog(id), () => "")
          return yield* new InstanceTaskFailed({ reason: `exit code ${code}. ${log.slice(-500)}` })
        }),
      // The next task removes it too.
      (id) =>
        Effect.catchAll(engine.removeContainer(id), ({ message }) =>
          Effect.logWarning("Container of a task not removed").pipe(Effect.annotateLogs({ reason: message }))
        )
    )
  })

  const removeEntries = (names: ContainerNames, path: string, kept: ReadonlyArray<string>) =>
    runTask(names, makeRemovalCommand(path, kept))

  /** True if this process cannot read the volume. */
  const mayHoldOtherAgents = Effect.fnUntraced(function* (names: ContainerNames, kept: ReadonlyArray<AgentId>) {
    const volume = yield* engine.inspectVolume(names.volume)
    if (Option.isNone(volume)) return false
    const { Mountpoint } = volume.value
    if (!(yield* isReadable(Mountpoint))) return true
    const others = yield* listOtherAgents(join(Mountpoint, homeName, runtimeAgentsDirectory), kept)
    return others.length > 0
  })

  return {
    namesOf,
    newestImage,
    imageOf,
    find,
    makeProfile,
    create,
    start,
    stop,
    discard,
    /** Called before every start, so the task, which takes half a second, runs only if there is an entry to remove. */
    removeOtherAgents: (names: ContainerNames, kept: ReadonlyArray<AgentId>) =>
      Effect.if(mayHoldOtherAgents(names, kept), {
        onTrue: () => removeEntries(names, `${instanceHome}/${runtimeAgentsDirectory}`, kept),
        // A killed backend may have left an ended task.
        onFalse: () => engine.removeContainer(names.task)
      }),
    /** Removes all files except those of the agents. */
    resetFiles: (names: ContainerNames) => removeEntries(names, instanceHome, [runtimeAgentsDirectory]),
    /** Removes every object of the owner. Idempotent. */
    removeAll: Effect.fnUntraced(function* (names: ContainerNames) {
      for (const name of [names.container, names.candidate, names.task]) yield* engine.removeContainer(name)
      yield* engine.removeVolume(names.volume)
    }),
    listOwners: Effect.gen(function* () {
      const labels = installationLabels(installation)
      return ownersOf([...(yield* engine.listContainers(labels)), ...(yield* engine.listVolumes(labels))])
    }),
    /** Includes containers in creation, which are about to run; excludes unaccepted candidates. */
    listRunning: Effect.map(engine.listContainers(installationLabels(installation)), (containers) =>
      ownersOf(
        containers.filter(
          ({ Names, State }) => State !== "exited" || Names.some((name) => name.endsWith(candidateSuffix))
        )
      )
    )
  }
}
export type InstanceContainers = ReturnType<typeof make>
