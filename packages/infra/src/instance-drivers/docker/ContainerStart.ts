import type { InstanceSpec, RunningInstance } from "@berth/domain/instances/InstanceDriver"
import { Duration, Effect, Option, Queue, Redacted, Stream } from "effect"
import type { RuntimeClient } from "../../runtime/RuntimeClient.ts"
import type { Replacement } from "../PlatformDriver.ts"
import { awaitReady, describeProbe, probeHealth, readyTimeout, RuntimeNotReady } from "../HealthProbe.ts"
import { logCleanupFailure, logReplaced, makeToStartFailed } from "../HostFailure.ts"
import { type FileOperationFailed, isHostFault } from "../HostFiles.ts"
import type { InstanceTaskFailed } from "../RuntimeImage.ts"
import * as StartSlots from "../StartSlots.ts"
import { describeContainerExit, readExitMessage } from "./ContainerExit.ts"
import { findProfileDifferences } from "./ContainerProfile.ts"
import type { DockerEngine } from "./DockerEngine.ts"
import { type EngineError, isEngineFault, type RuntimeImageMissing } from "./EngineErrors.ts"
import type { ContainerInspection, ImageInspection } from "./EngineModels.ts"
import type { InstanceContainers, ContainerNames } from "./InstanceContainers.ts"
import { findEndpoint, type RunningContainers } from "./RunningContainers.ts"
import type { VolumeUsage } from "./VolumeUsage.ts"

interface ContainerStartOptions {
  readonly engine: DockerEngine
  readonly containers: InstanceContainers
  readonly running: RunningContainers
  readonly client: RuntimeClient
  readonly volumes: VolumeUsage
}

type StartProblem = EngineError | RuntimeNotReady | FileOperationFailed | RuntimeImageMissing | InstanceTaskFailed

const isHostProblem = (error: StartProblem): boolean => {
  if (error._tag === "RuntimeNotReady" || error._tag === "InstanceTaskFailed") return false
  return error._tag === "FileOperationFailed" ? isHostFault(error) : isEngineFault(error)
}

/** A killed engine can leave a container's task behind; then the container never starts again. */
const isTaskLeft = (error: StartProblem): boolean =>
  error._tag === "EngineRequestRejected" && /^task \S+ already exists/.test(error.reason)

const unconditionally = { fresh: false, accept: () => Effect.void }
const toStartFailed = makeToStartFailed(isHostProblem)

/** Starts, adopts and replaces containers of instances. */
export const make = ({ client, containers, engine, running, volumes }: ContainerStartOptions) => {
  const startSlots = StartSlots.make()

  const requireContainer = (id: string) =>
    Effect.flatMap(
      engine.inspectContainer(id),
      Effect.mapError(() => new RuntimeNotReady({ reason: "its container was removed" }))
    )

  /** Waits until the runtime in a started container accepts the token. */
  const waitUntilReady = Effect.fnUntraced(function* (spec: InstanceSpec, id: string) {
    const started = yield* requireContainer(id)
    const ended = Effect.gen(function* () {
      yield* engine.waitForExit(id, Duration.sum(readyTimeout, readyTimeout))
      const { State } = yield* requireContainer(id)
      const line = yield* readExitMessage(engine, started)
      return yield* new RuntimeNotReady({ reason: describeContainerExit(State, spec.memoryMb, line) })
    })
    const endpoint = yield* Option.match(findEndpoint(started, running.network), {
      // The container has already ended, or the engine gave it no address.
      onNone: () => ended,
      onSome: Effect.succeed
    })
    const lastLine = Effect.map(readExitMessage(engine, started), (line) =>
      line === "" ? "" : `; its last log line: ${line}`
    )
    // The runtime logs that it listens. Polling at the same rate would cost more than the start when many instances
    // start concurrently.
    const output = yield* Queue.sliding<void>(1)
    yield* engine.followLog(id, started.State.StartedAt).pipe(
      Stream.runForEach(() => Queue.offer(output, undefined)),
      Effect.ignore,
      Effect.forkScoped
    )
    const { runtimeVersion } = yield* awaitReady({
      client,
      endpoint,
      token: spec.token,
      ended,
      explain: lastLine,
      nextSign: Queue.take(output)
    })
    return { inspected: started, endpoint, runtimeVersion }
  }, Effect.scoped)

  /**
   * Starts an existing container and registers it after its runtime is ready. A failure or an interruption leaves it
   * stopped.
   */
  const launch = Effect.fnUntraced(function* (spec: InstanceSpec, names: ContainerNames, id: string) {
    const { bytes: diskAtStart, directory } = yield* volumes.measure(names.volume, Number.MAX_SAFE_INTEGER)
    const ready = startSlots.withPermits(1)(
      Effect.zipRight(containers.start(id, spec.token, directory), waitUntilReady(spec, id))
    )
    const { inspected, ...readiness } = yield* Effect.onError(ready, () => logCleanupFailure(containers.stop(id)))
    yield* Effect.logInfo("Instance started").pipe(Effect.annotateLogs({ userId: names.owner, container: id }))
    return running.register(names, inspected, { ...readiness, diskAtStart })
  })

  /** Stops the owner's container, registered or not. The caller holds the owner's lock. */
  const end = Effect.fnUntraced(function* (names: ContainerNames) {
    const { candidate, current } = yield* containers.find(names)
    running.unregister(names.owner)
    if (Option.isSome(candidate)) yield* containers.discard(names, candidate.value.Id)
    if (Option.isSome(current)) yield* containers.stop(current.value.Id)
    return current
  }, Effect.uninterruptible)

  /**
   * Starts a container of the image. If accepted, it takes the current container's name in one step, atomic under
   * crashes; otherwise it is removed, and the current container stays stopped.
   */
  const replace = Effect.fnUntraced(function* <E>(
    spec: InstanceSpec,
    names: ContainerNames,
    image: ImageInspection,
    options: Replacement<E>
  ) {
    const { current, id } = yield* toStartFailed(names.owner)(
      Effect.gen(function* () {
        const current = yield* end(names)
        if (options.fresh) yield* containers.resetFiles(names)
        return { current, id: yield* containers.create(spec, names, image, names.candidate) }
      })
    )
    const instance = yield* launch(spec, names, id).pipe(
      toStartFailed(names.owner),
      Effect.tap(options.accept),
      Effect.onError(() =>
        Effect.suspend(() => {
          running.unregister(names.owner)
          return logCleanupFailure(Effect.zipRight(containers.stop(id), containers.discard(names, id)))
        })
      )
    )
    const commit = Effect.gen(function* () {
      if (Option.isSome(current)) yield* containers.discard(names, current.value.Id)
      yield* engine.renameContainer(id, names.container)
    })
    yield* toStartFailed(names.owner)(commit)
    return instance
  })

  /** Returns the container to continue with; none to create one from the image. */
  const inspectOwner = Effect.fnUntraced(function* (spec: InstanceSpec, names: ContainerNames) {
    const { candidate, current } = yield* containers.find(names)
    // A crashed backend left an unaccepted version.
    if (Option.isSome(candidate)) yield* containers.discard(names, candidate.value.Id)
    const image = yield* containers.imageOf(current)
    if (Option.isNone(current)) return { image, usable: current }
    const differences = findProfileDifferences(containers.makeProfile(spec, names, image), current.value)
    if (differences.length === 0) return { image, usable: current }
    yield* logReplaced(names.owner, `its container differs in ${differences.join(", ")}`)
    return { image, usable: Option.none() }
  })

  const adoptOrLaunch = Effect.fnUntraced(function* (
    spec: InstanceSpec,
    names: ContainerNames,
    container: ContainerInspection
  ) {
    if (container.State.Running) {
      const endpoint = findEndpoint(container, running.network)
      const health = Option.isSome(endpoint) ? yield* probeHealth(client, endpoint.value, spec.token) : "unresponsive"
      const adopted = health === "healthy" ? yield* adopt(names, container) : Option.none()
      if (Option.isSome(adopted)) return adopted.value
      yield* logReplaced(names.owner, describeProbe(health))
      yield* end(names)
    }
    return yield* launch(spec, names, container.Id)
  })

  const start = Effect.fnUntraced(function* (spec: InstanceSpec, names: ContainerNames) {
    const { image, usable } = yield* toStartFailed(names.owner)(inspectOwner(spec, names))
    const started = yield* Effect.transposeMapOption(usable, (container) => adoptOrLaunch(spec, names, container)).pipe(
      Effect.catchIf(isTaskLeft, () =>
        Effect.as(logReplaced(names.owner, "a killed engine left a task of its container"), Option.none())
      ),
      toStartFailed(names.owner)
    )
    return Option.isSome(started) ? started.value : yield* replace(spec, names, image, unconditionally)
  })

  /** Registers a container started by an earlier backend or another driver. Idempotent. */
  const adopt = Effect.fnUntraced(function* (
    names: ContainerNames,
    inspected: ContainerInspection
  ): Effect.fn.Return<Option.Option<RunningInstance>, EngineError | FileOperationFailed> {
    const registered = running.get(names.owner)
    if (Option.isSome(registered) && registered.value.id === inspected.Id) return Option.some(registered.value.instance)
    const endpoint = findEndpoint(inspected, running.network)
    if (Option.isNone(endpoint)) return Option.none()
    yield* Effect.logInfo("Instance adopted").pipe(Effect.annotateLogs({ userId: names.owner }))
    const { bytes: diskAtStart } = yield* volumes.measure(names.volume, Number.MAX_SAFE_INTEGER)
    return Option.some(running.register(names, inspected, { endpoint: endpoint.value, diskAtStart }))
  })

  const update = <E>(spec: InstanceSpec, names: ContainerNames, replacement: Replacement<E>) =>
    Effect.flatMap(toStartFailed(names.owner)(containers.newestImage), (image) =>
      replace(spec, names, image, replacement)
    )

  /** Finds and adopts a running container. */
  const find = Effect.fnUntraced(function* (names: ContainerNames) {
    const { current } = yield* containers.find(names)
    const endpoint = Option.flatMap(current, (container) => findEndpoint(container, running.network))
    if (Option.isNone(current) || !current.value.State.Running || Option.isNone(endpoint)) return Option.none()
    const health = yield* probeHealth(client, endpoint.value, Redacted.make("none"))
    return health === "unresponsive" ? Option.none() : yield* adopt(names, current.value)
  })

  return { start, update, end, find }
}
