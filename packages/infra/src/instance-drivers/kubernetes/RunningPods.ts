import type { InstanceExit, RunningInstance } from "@berth/domain/instances/InstanceDriver"
import type { UserId } from "@berth/domain/shared/UserId"
import { DateTime, Effect, Option, PubSub, Stream } from "effect"
import * as InstanceLogFile from "../InstanceLogFile.ts"
import * as OwnerLocks from "../OwnerLocks.ts"
import { describeContainerEnd, findExitMessage } from "../ProcessExit.ts"
import type { ClusterClient } from "./ClusterClient.ts"
import type { Pod } from "./ClusterModels.ts"
import { containerName, findMemoryMb } from "./InstanceManifests.ts"
import type { PodNames } from "./PodNames.ts"
import type { InstanceObjects } from "./InstanceObjects.ts"
import { type PodState, readPodState } from "./PodState.ts"
import type { PodWatch } from "./PodWatch.ts"

/** The pod of a running instance. */
export interface RunningPod {
  readonly instance: RunningInstance
  readonly names: PodNames
  /** Of this run: a pod that the cluster replaced or restarted is another. */
  readonly uid: string
  readonly containerId: string
  readonly memoryMb: number
}

export interface RunningPodsOptions {
  readonly client: ClusterClient
  readonly objects: InstanceObjects
  readonly watch: PodWatch
}

/** Describes the end of a pod, with the line of its log that tells why. */
export const describePodEnd = (
  client: ClusterClient,
  { pod }: PodNames,
  memoryMb: number,
  { end, isPrevious }: Extract<PodState, { readonly _tag: "Ended" }>
) =>
  Effect.map(client.readLog(pod, containerName, isPrevious), (log) =>
    describeContainerEnd(end, memoryMb, findExitMessage(Option.getOrElse(log, () => "")))
  )

/** The pods of this driver, their exits, and one lock per owner. */
export const make = ({ client, objects, watch }: RunningPodsOptions) =>
  Effect.gen(function* () {
    const running = new Map<UserId, RunningPod>()
    const exits = yield* PubSub.unbounded<InstanceExit>()
    const withOwnerLock = yield* OwnerLocks.make

    const isRegistered = (pod: RunningPod) => running.get(pod.instance.owner) === pod

    /**
     * Ends a pod that must not go on, and publishes the exit: the reconciler decides about the next start, not the kubelet. The
     * pod is scaled away first, so that a start finds none.
     */
    const endWithReason = (pod: RunningPod, reason: string, hostLine: string) =>
      Effect.gen(function* () {
        const { owner } = pod.instance
        if (!isRegistered(pod)) return
        running.delete(owner)
        yield* Effect.logWarning("Instance exited").pipe(Effect.annotateLogs({ userId: owner, reason }))
        yield* Effect.catchAll(objects.stop(pod.names), ({ message }) =>
          Effect.logWarning("Pod of an ended instance not removed").pipe(
            Effect.annotateLogs({ userId: owner, reason: message })
          )
        )
        yield* InstanceLogFile.appendHostLine(pod.names, "error", hostLine)
        yield* PubSub.publish(exits, { owner, reason })
      }).pipe(Effect.uninterruptible, (work) => withOwnerLock(pod.instance.owner, work))

    const findExit = (pod: RunningPod, found: Option.Option<Pod>) =>
      Effect.gen(function* () {
        if (Option.isNone(found) || found.value.metadata.uid !== pod.uid)
          return Option.some("the cluster removed its pod")
        const state = readPodState(found.value)
        if (state._tag === "Running" && state.containerId === pod.containerId) return Option.none<string>()
        if (state._tag === "Terminating") return Option.some("the cluster is removing its pod")
        // Restarted by the kubelet in the meantime.
        const last = readPodState({ ...found.value, status: { ...found.value.status, podIP: "" } })
        return last._tag === "Ended"
          ? Option.some(
              yield* describePodEnd(client, pod.names, pod.memoryMb, { ...last, isPrevious: last.isPrevious })
            )
          : Option.some("its container was replaced")
      })

    /** Publishes an exit that was not requested: a requested one is preceded by `unregister`. */
    const checkExit = (pod: RunningPod) =>
      Effect.gen(function* () {
        if (!isRegistered(pod)) return
        const reason = yield* findExit(pod, yield* client.getPod(pod.names.pod))
        if (Option.isSome(reason) && isRegistered(pod))
          yield* endWithReason(pod, reason.value, `The instance exited: ${reason.value}`)
      }).pipe(
        Effect.catchAll(({ message }) =>
          Effect.logWarning("Pod check failed").pipe(
            Effect.annotateLogs({ userId: pod.instance.owner, reason: message })
          )
        )
      )

    const checkAll = Effect.suspend(() =>
      Effect.forEach([...running.values()], checkExit, { concurrency: 4, discard: true })
    )

    // The changes wake the driver; the pod as it is read then is the truth.
    yield* watch.changes.pipe(
      Stream.mapEffect(
        (name) =>
          Effect.forEach(
            [...running.values()].filter(({ names }) => names.pod === name),
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
      running.set(owner, {
        instance,
        names,
        uid: pod.metadata.uid,
        containerId: state.containerId,
        memoryMb: findMemoryMb(pod.metadata.annotations)
      })
      return instance
    }

    return {
      exits: Stream.fromPubSub(exits),
      list: () => [...running.values()],
      get: (owner: UserId) => Option.fromNullable(running.get(owner)),
      /** From here on the exit of the owner's pod is not published. */
      unregister: (owner: UserId) => void running.delete(owner),
      register,
      checkAll,
      endWithReason: (pod: RunningPod, reason: string) =>
        endWithReason(pod, reason, `The instance was ended: ${reason}.`),
      withOwnerLock
    }
  })
export type RunningPods = Effect.Effect.Success<ReturnType<typeof make>>
