import {
  InstanceHostUnavailable,
  type InstanceSpec,
  InstanceStartFailed,
  type RunningInstance
} from "@berth/domain/instances/InstanceDriver"
import type { UserId } from "@berth/domain/shared/UserId"
import { Duration, Effect, Option, Schedule } from "effect"
import type { RuntimeClient } from "../../runtime/RuntimeClient.ts"
import { probeHealth } from "../HealthProbe.ts"
import type { InstanceTaskFailed } from "../RuntimeImage.ts"
import { RuntimeNotReady } from "../RuntimeNotReady.ts"
import type { ClusterClient } from "./ClusterClient.ts"
import { type ClusterError, ClusterResourcesMissing, isClusterFault } from "./ClusterErrors.ts"
import type { Pod } from "./ClusterModels.ts"
import type { PodNames } from "./PodNames.ts"
import { type AcceptedVersion, findAccepted, type InstanceObjects } from "./InstanceObjects.ts"
import { readPodState, type PodState } from "./PodState.ts"
import { describePodEnd, type RunningPods } from "./RunningPods.ts"

export interface PodStartOptions {
  readonly client: ClusterClient
  readonly objects: InstanceObjects
  readonly running: RunningPods
  readonly runtime: RuntimeClient
  /** For a node that must be found, a volume that must be mounted and an image that must be pulled. */
  readonly podTimeout: Duration.Duration
}

export const defaultPodTimeout = Duration.seconds(90)
const readyTimeout = Duration.seconds(15)
const pollSchedule = Schedule.spaced("20 millis")

type RunningState = Extract<PodState, { readonly _tag: "Running" }>

/** Starts, adopts and replaces the pods of instances. */
export const make = ({ client, objects, podTimeout, running, runtime }: PodStartOptions) => {
  const requireNames = (owner: UserId) =>
    Effect.mapError(
      objects.namesOf(owner),
      () => new InstanceStartFailed({ owner, reason: "the owner's id names no pod" })
    )

  const toStartFailed = (owner: UserId) =>
    Effect.mapError((error: ClusterError | RuntimeNotReady | InstanceTaskFailed) =>
      isClusterFault(error)
        ? new InstanceHostUnavailable({ reason: error.message })
        : new InstanceStartFailed({ owner, reason: error.message })
    )

  /** The reason for which a pod is still not running after its time. */
  const explainDelay = (names: PodNames, pod: Option.Option<Pod>) =>
    Effect.gen(function* () {
      const claim = yield* objects.findClaimProblem(names)
      if (Option.isSome(claim))
        return yield* new ClusterResourcesMissing({
          reason: `The volume claim ${names.name} is ${claim.value || "not bound"}`,
          advice: "Check the storage class of the namespace with `kubectl describe pvc`."
        })
      const state = Option.map(pod, (found) => readPodState(found))
      const problem = Option.isSome(state) && state.value._tag === "Starting" ? state.value.problem : ""
      return yield* new ClusterResourcesMissing({
        reason: `The pod ${names.pod} did not run within ${Duration.format(podTimeout)}${problem === "" ? "" : `: ${problem}`}`,
        advice: "Check the nodes and quotas of the cluster with `kubectl get events`."
      })
    })

  const notReady = (reason: string) => new RuntimeNotReady({ reason })

  const failEnded = (spec: InstanceSpec, names: PodNames, state: Extract<PodState, { readonly _tag: "Ended" }>) =>
    Effect.flatMap(describePodEnd(client, names, spec.memoryMb, state), (reason) => notReady(reason))

  /** Waits until the container runs. A pod that the controller may not create is explained as soon as it says so. */
  const awaitRunning = (spec: InstanceSpec, names: PodNames, warnings: ReadonlySet<string>) => {
    let latest = Option.none<Pod>()
    return objects
      .awaitPod(names.pod, (pod) =>
        Effect.gen(function* () {
          latest = pod
          if (Option.isNone(pod)) {
            const denial = yield* objects.findDenial(names, warnings)
            return Option.isSome(denial) ? yield* Effect.fail(denial.value) : Option.none()
          }
          const state = readPodState(pod.value)
          if (state._tag === "Blocked") return yield* notReady(state.problem)
          if (state._tag === "Ended") return yield* failEnded(spec, names, state)
          return state._tag === "Running" ? Option.some({ pod: pod.value, state }) : Option.none()
        })
      )
      .pipe(
        Effect.timeoutOption(podTimeout),
        Effect.flatMap(
          Option.match({ onNone: () => Effect.suspend(() => explainDelay(names, latest)), onSome: Effect.succeed })
        )
      )
  }

  /** Fails when the container that ran ends. */
  const awaitEnd = (spec: InstanceSpec, names: PodNames, { containerId }: RunningState) =>
    objects.awaitPod<never, ClusterError | RuntimeNotReady>(names.pod, (pod) =>
      Effect.gen(function* () {
        if (Option.isNone(pod)) return yield* notReady("its pod was removed")
        const state = readPodState(pod.value)
        if (state._tag === "Ended") return yield* failEnded(spec, names, state)
        if (state._tag === "Running" && state.containerId === containerId) return Option.none()
        return yield* notReady("its container was replaced")
      })
    )

  /** Waits until the runtime in the pod accepts the token. */
  const waitUntilReady = (spec: InstanceSpec, names: PodNames, warnings: ReadonlySet<string>) =>
    Effect.gen(function* () {
      const { pod, state } = yield* awaitRunning(spec, names, warnings)
      const ready = runtime.health({ endpoint: state.endpoint, token: spec.token }).pipe(
        Effect.retry({ while: ({ _tag }) => _tag === "RuntimeUnresponsive", schedule: pollSchedule }),
        Effect.mapError((error) => notReady("reason" in error ? error.reason : error.message)),
        Effect.raceFirst(awaitEnd(spec, names, state))
      )
      const health = yield* Effect.timeoutOption(ready, readyTimeout)
      if (Option.isNone(health)) return yield* notReady(`it was not ready within ${Duration.format(readyTimeout)}`)
      return { pod, state, runtimeVersion: health.value.runtimeVersion }
    })

  /** For cleaning up after a failure, which is reported instead. The next start repeats it. */
  const logFailure = <A>(effect: Effect.Effect<A, ClusterError>): Effect.Effect<void> =>
    Effect.catchAll(Effect.asVoid(effect), ({ message }) =>
      Effect.logWarning("Pod cleanup failed").pipe(Effect.annotateLogs({ reason: message }))
    )

  /** Stops the owner's pod, registered or not. The caller holds the owner's lock. */
  const end = (names: PodNames) =>
    Effect.suspend(() => {
      running.unregister(names.owner)
      return objects.stop(names)
    }).pipe(Effect.uninterruptible)

  /** Starts a pod of the image, which becomes the accepted one. A failure or an interruption leaves the one before, stopped. */
  const replace = <E>(
    spec: InstanceSpec,
    names: PodNames,
    image: string,
    before: Option.Option<AcceptedVersion>,
    options: { readonly fresh: boolean; readonly accept: (instance: RunningInstance) => Effect.Effect<void, E> }
  ) =>
    Effect.gen(function* () {
      const { owner } = names
      const previous = Option.getOrNull(before)
      const launch = Effect.gen(function* () {
        yield* end(names)
        if (options.fresh) yield* objects.resetFiles(names)
        const warnings = yield* objects.listWarningVersions(names)
        yield* objects.apply(spec, names, { image, accepted: previous, replicas: 1 })
        const { pod, runtimeVersion, state } = yield* waitUntilReady(spec, names, warnings)
        yield* Effect.logInfo("Instance started").pipe(Effect.annotateLogs({ userId: owner, pod: names.pod }))
        return { runtimeVersion, instance: running.register(names, pod, state, runtimeVersion) }
      })
      const revert = Effect.suspend(() =>
        logFailure(
          Effect.zipRight(
            end(names),
            previous === null || previous.image === image
              ? Effect.void
              : objects.applySet(spec, names, { image: previous.image, accepted: previous, replicas: 0 })
          )
        )
      )
      const { instance, runtimeVersion } = yield* launch.pipe(
        toStartFailed(owner),
        Effect.tap(({ instance: launched }) => options.accept(launched)),
        Effect.onError(() => revert)
      )
      if (previous?.image !== image || previous.runtimeVersion !== runtimeVersion)
        yield* toStartFailed(owner)(
          objects.applySet(spec, names, { image, accepted: { image, runtimeVersion }, replicas: 1 })
        )
      return instance
    })

  const logReplaced = (owner: UserId, reason: string) =>
    Effect.logWarning("Instance replaced").pipe(Effect.annotateLogs({ userId: owner, reason }))

  /** Registers a pod that an earlier backend, or another driver, started. Idempotent. */
  const adopt = (names: PodNames, pod: Pod, state: RunningState, runtimeVersion: string) =>
    Effect.gen(function* () {
      const registered = running.get(names.owner)
      if (Option.isSome(registered) && registered.value.containerId === state.containerId)
        return registered.value.instance
      yield* Effect.logInfo("Instance adopted").pipe(Effect.annotateLogs({ userId: names.owner }))
      return running.register(names, pod, state, runtimeVersion)
    })

  const startLocked = (spec: InstanceSpec, names: PodNames) =>
    Effect.gen(function* () {
      const { accepted, adopted } = yield* toStartFailed(names.owner)(
        Effect.gen(function* () {
          const [found, pod] = yield* Effect.all([client.getStatefulSet(names.name), client.getPod(names.pod)], {
            concurrency: 2
          })
          const accepted = Option.flatMap(found, findAccepted)
          const none = { accepted, adopted: Option.none<RunningInstance>() }
          if (Option.isNone(pod) || Option.isNone(accepted)) return none
          const state = readPodState(pod.value)
          if (state._tag !== "Running") return none
          if (!objects.hasProfile(pod.value, spec, names, accepted.value.image)) {
            yield* logReplaced(names.owner, "its pod has another profile")
            return none
          }
          const health = yield* probeHealth(runtime, state.endpoint, spec.token)
          if (health === "healthy")
            return {
              accepted,
              adopted: Option.some(yield* adopt(names, pod.value, state, accepted.value.runtimeVersion))
            }
          yield* logReplaced(names.owner, health === "rejected" ? "it has another token" : "it does not answer")
          return none
        })
      )
      if (Option.isSome(adopted)) return adopted.value
      const image = Option.match(accepted, { onNone: () => objects.image, onSome: (version) => version.image })
      return yield* replace(spec, names, image, accepted, { fresh: false, accept: () => Effect.void })
    })

  const start = Effect.fn("InstanceDriver.start")(function* (spec: InstanceSpec) {
    const { owner } = spec
    yield* Effect.annotateCurrentSpan({ "user.id": owner })
    const names = yield* requireNames(owner)
    return yield* running.withOwnerLock(owner, startLocked(spec, names))
  })

  const update = <E>(
    spec: InstanceSpec,
    { fresh }: { readonly fresh: boolean },
    accept: (instance: RunningInstance) => Effect.Effect<void, E>
  ) => {
    const { owner } = spec
    return Effect.gen(function* () {
      const names = yield* requireNames(owner)
      const work = Effect.gen(function* () {
        const found = yield* toStartFailed(owner)(client.getStatefulSet(names.name))
        return yield* replace(spec, names, objects.image, Option.flatMap(found, findAccepted), { fresh, accept })
      })
      return yield* running.withOwnerLock(owner, work)
    }).pipe(Effect.withSpan("InstanceDriver.update", { attributes: { "user.id": owner } }))
  }

  return { start, update, end, adopt }
}
export type PodStart = ReturnType<typeof make>
