import type { RunningInstance } from "@berth/domain/instances/InstanceDriver"
import { DateTime, Effect, Option, Stream } from "effect"
import * as InstanceRegistry from "../InstanceRegistry.ts"
import { describeContainerEnd, findExitMessage } from "../ProcessExit.ts"
import type { ClusterClient } from "./ClusterClient.ts"
import type { Pod } from "./ClusterModels.ts"
import { containerName, findMemoryMb } from "./InstanceManifests.ts"
import type { PodNames } from "./PodNames.ts"
import type { InstanceObjects } from "./InstanceObjects.ts"
import { type PodState, readPodState } from "./PodState.ts"
import type { PodWatch } from "./PodWatch.ts"

export interface RunningPod {
  readonly instance: RunningInstance
  readonly names: PodNames
  /** Uid of this run; a pod that the cluster replaced or restarted has another one. */
  readonly uid: string
  readonly containerId: string
  readonly memoryMb: number
}

interface RunningPodsOptions {
  readonly client: ClusterClient
  readonly objects: InstanceObjects
  readonly watch: PodWatch
}

/** Describes the end of a pod, with the line of its log that states the reason. */
export const describePodEnd = (
  client: ClusterClient,
  { pod }: PodNames,
  memoryMb: number,
  { end, isPrevious }: Extract<PodState, { readonly _tag: "Ended" }>
) =>
  Effect.map(client.readLog(pod, containerName, isPrevious), (log) =>
    describeContainerEnd(end, memoryMb, findExitMessage(Option.getOrElse(log, () => "")))
  )

/** Pods of this driver, their exits, and one lock per owner. */
export const make = Effect.fnUntraced(function* ({ client, objects, watch }: RunningPodsOptions) {
  const registry = yield* InstanceRegistry.make<RunningPod>(({ names }) => names)

  /**
   * Scaled down before its exit is published, since the reconciler instead of the kubelet decides on the next start.
   */
  const stop = ({ instance: { owner }, names }: RunningPod) =>
    Effect.catchAll(objects.stop(names), ({ message }) =>
      Effect.logWarning("Pod of an ended instance not removed").pipe(
        Effect.annotateLogs({ userId: owner, reason: message })
      )
    )

  const findExit = Effect.fnUntraced(function* (pod: RunningPod, found: Option.Option<Pod>) {
    if (Option.isNone(found) || found.value.metadata.uid !== pod.uid) return Option.some("the cluster removed its pod")
    const state = readPodState(found.value)
    if (state._tag === "Running" && state.containerId === pod.containerId) return Option.none<string>()
    if (state._tag === "Terminating") return Option.some("the cluster is removing its pod")
    // The kubelet has restarted it concurrently.
    const last = readPodState({ ...found.value, status: { ...found.value.status, podIP: "" } })
    return last._tag === "Ended"
      ? Option.some(yield* describePodEnd(client, pod.names, pod.memoryMb, { ...last, isPrevious: last.isPrevious }))
      : Option.some("its container was replaced")
  })

  const checkExit = (pod: RunningPod) =>
    Effect.gen(function* () {
      if (!registry.isRegistered(pod)) return
      const reason = yield* findExit(pod, yield* client.getPod(pod.names.pod))
      if (Option.isSome(reason)) yield* registry.endExited(pod, stop(pod), reason.value)
    }).pipe(
      Effect.catchAll(({ message }) =>
        Effect.logWarning("Pod check failed").pipe(Effect.annotateLogs({ userId: pod.instance.owner, reason: message }))
      )
    )

  const checkAll = Effect.suspend(() => Effect.forEach(registry.list(), checkExit, { concurrency: 4, discard: true }))

  // Changes only wake the driver; the pod read afterwards is authoritative.
  yield* watch.changes.pipe(
    Stream.mapEffect(
      (name) =>
        Effect.forEach(
          registry.list().filter(({ names }) => names.pod === name),
          checkExit,
          { discard: true }
        ),
      { concurrency: 16 }
    ),
    Stream.runDrain,
    Effect.forkScoped
  )

  const register = (
    names: PodNames,
    pod: Pod,
    state: Extract<PodState, { readonly _tag: "Running" }>,
    runtimeVersion: string
  ): RunningInstance => {
    const { owner } = names
    const instance = {
      owner,
      endpoint: state.endpoint,
      startedAt: DateTime.unsafeMake(state.startedAt),
      runtimeVersion
    }
    return registry.register({
      instance,
      names,
      uid: pod.metadata.uid,
      containerId: state.containerId,
      memoryMb: findMemoryMb(pod.metadata.annotations)
    })
  }

  return {
    ...registry,
    register,
    checkAll,
    /** Ends an exited pod with the reason of its exit. */
    endWithReason: (pod: RunningPod, reason: string) =>
      Effect.zipRight(checkExit(pod), registry.endWithReason(pod, stop(pod), reason))
  }
})
export type RunningPods = Effect.Effect.Success<ReturnType<typeof make>>
