import type { InstanceSpec, RunningInstance } from "@berth/domain/instances/InstanceDriver"
import { Duration, Effect, Option, Redacted } from "effect"
import type { RuntimeClient } from "../../runtime/RuntimeClient.ts"
import type { Replacement } from "../PlatformDriver.ts"
import { awaitReady, describeProbe, probeHealth, RuntimeNotReady } from "../HealthProbe.ts"
import { logCleanupFailure, logReplaced, makeToStartFailed } from "../HostFailure.ts"
import type { InstanceTaskFailed } from "../RuntimeImage.ts"
import type { ClusterClient } from "./ClusterClient.ts"
import { type ClusterError, ClusterResourcesMissing, isClusterFault } from "./ClusterErrors.ts"
import type { Pod } from "./ClusterModels.ts"
import type { PodNames } from "./PodNames.ts"
import { type AcceptedVersion, findAccepted, type InstanceObjects } from "./InstanceObjects.ts"
import { readPodState, type PodState } from "./PodState.ts"
import { describePodEnd, type RunningPods } from "./RunningPods.ts"

interface PodStartOptions {
  readonly client: ClusterClient
  readonly objects: InstanceObjects
  readonly running: RunningPods
  readonly runtime: RuntimeClient
  /** Time to schedule a pod, mount its volume and pull its image. */
  readonly podTimeout: Duration.Duration
}

export const defaultPodTimeout = Duration.seconds(90)
const toStartFailed = makeToStartFailed<ClusterError | RuntimeNotReady | InstanceTaskFailed>((error) =>
  isClusterFault(error)
)

type RunningState = Extract<PodState, { readonly _tag: "Running" }>

/** Starts, adopts and replaces pods of instances. */
export const make = ({ client, objects, podTimeout, running, runtime }: PodStartOptions) => {
  /** Explains why a pod is not running in time. */
  const explainDelay = Effect.fnUntraced(function* (names: PodNames, pod: Option.Option<Pod>) {
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

  /** Waits until the container runs. Fails as soon as the controller reports that it cannot create the pod. */
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

  /** Fails when the running container ends. */
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
  const waitUntilReady = Effect.fnUntraced(function* (
    spec: InstanceSpec,
    names: PodNames,
    warnings: ReadonlySet<string>
  ) {
    const { pod, state } = yield* awaitRunning(spec, names, warnings)
    const { runtimeVersion } = yield* awaitReady({
      client: runtime,
      endpoint: state.endpoint,
      token: spec.token,
      ended: awaitEnd(spec, names, state),
      explain: Effect.succeed(""),
      nextSign: Effect.never
    })
    return { pod, state, runtimeVersion }
  })

  /** Stops the owner's pod, registered or not. The caller holds the owner's lock. */
  const end = (names: PodNames) =>
    Effect.suspend(() => {
      running.unregister(names.owner)
      return objects.stop(names)
    }).pipe(Effect.uninterruptible)

  /**
   * Starts a pod of the image, which is accepted on success. A failure or an interruption keeps the previous version,
   * stopped.
   */
  const replace = Effect.fnUntraced(function* <E>(
    spec: InstanceSpec,
    names: PodNames,
    image: string,
    before: Option.Option<AcceptedVersion>,
    options: Replacement<E>
  ) {
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
      logCleanupFailure(
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

  /** Registers a pod started by an earlier backend or another driver. Idempotent. */
  const adopt = Effect.fnUntraced(function* (names: PodNames, pod: Pod, state: RunningState, runtimeVersion: string) {
    const registered = running.get(names.owner)
    if (Option.isSome(registered) && registered.value.containerId === state.containerId)
      return registered.value.instance
    yield* Effect.logInfo("Instance adopted").pipe(Effect.annotateLogs({ userId: names.owner }))
    return running.register(names, pod, state, runtimeVersion)
  })

  /** Returns the accepted version, and its running pod. */
  const readPod = (names: PodNames) =>
    Effect.map(
      Effect.all([client.getStatefulSet(names.name), client.getPod(names.pod)], { concurrency: 2 }),
      ([found, pod]) => {
        const accepted = Option.flatMap(found, findAccepted)
        const states = Option.map(pod, (current) => ({ pod: current, state: readPodState(current) }))
        if (Option.isNone(accepted) || Option.isNone(states)) return { accepted, current: Option.none() }
        const { pod: runningPod, state } = states.value
        const current =
          state._tag === "Running" ? Option.some({ pod: runningPod, state, version: accepted.value }) : Option.none()
        return { accepted, current }
      }
    )

  /** Adopts the running pod unless it must be replaced. */
  const adoptCurrent = Effect.fnUntraced(function* (
    spec: InstanceSpec,
    names: PodNames,
    { pod, state, version }: { readonly pod: Pod; readonly state: RunningState; readonly version: AcceptedVersion }
  ) {
    const hasProfile = objects.hasProfile(pod, spec, names, version.image)
    const health = hasProfile ? yield* probeHealth(runtime, state.endpoint, spec.token) : "unresponsive"
    if (health === "healthy") return Option.some(adopt(names, pod, state, version.runtimeVersion))
    yield* logReplaced(names.owner, hasProfile ? describeProbe(health) : "its pod has another profile")
    return Option.none()
  }, Effect.flatMap(Effect.transposeOption))

  const start = Effect.fnUntraced(function* (spec: InstanceSpec, names: PodNames) {
    const { accepted, current } = yield* toStartFailed(names.owner)(readPod(names))
    const adopted = yield* Effect.transposeMapOption(current, (found) => adoptCurrent(spec, names, found))
    if (Option.isSome(adopted) && Option.isSome(adopted.value)) return adopted.value.value
    const image = Option.match(accepted, { onNone: () => objects.image, onSome: (version) => version.image })
    return yield* replace(spec, names, image, accepted, { fresh: false, accept: () => Effect.void })
  })

  const update = <E>(spec: InstanceSpec, names: PodNames, replacement: Replacement<E>) =>
    Effect.flatMap(toStartFailed(names.owner)(readPod(names)), ({ accepted }) =>
      replace(spec, names, objects.image, accepted, replacement)
    )

  /** Finds and adopts a running pod. */
  const find = Effect.fnUntraced(function* (names: PodNames) {
    const { current } = yield* readPod(names)
    if (Option.isNone(current)) return Option.none<RunningInstance>()
    const { pod, state, version } = current.value
    const health = yield* probeHealth(runtime, state.endpoint, Redacted.make("none"))
    return health === "unresponsive"
      ? Option.none<RunningInstance>()
      : Option.some(yield* adopt(names, pod, state, version.runtimeVersion))
  })

  return { start, update, end, find }
}
