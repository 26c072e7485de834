import { runtimeAgentsDirectory } from "@berth/api/runtime/RuntimeContract"
import type { InstanceSpec } from "@berth/domain/instances/InstanceDriver"
import type { AgentId } from "@berth/domain/shared/AgentId"
import { UserId } from "@berth/domain/shared/UserId"
import { Duration, Effect, Option, Schedule, Stream } from "effect"
import { mkdir } from "node:fs/promises"
import { tryFileOperation } from "../HostFiles.ts"
import * as InstanceLogFile from "../InstanceLogFile.ts"
import type { PermissionFlags } from "../NodeFlags.ts"
import { InstanceTaskFailed, instanceHome, makeRemovalCommand } from "../RuntimeImage.ts"
import type { BackendPeer } from "./BackendPeer.ts"
import type { ClusterClient } from "./ClusterClient.ts"
import {
  ClusterAdmissionDenied,
  type ClusterError,
  ClusterQuotaExceeded,
  ClusterResourcesMissing
} from "./ClusterErrors.ts"
import type { Pod, StatefulSet } from "./ClusterModels.ts"
import {
  acceptedImageAnnotation,
  containerName,
  makeDisruptionBudget,
  makeNetworkPolicy,
  makeSecret,
  makeService,
  makeStatefulSet,
  makeTaskPod,
  makeVolumeClaim,
  profileAnnotation,
  runtimeVersionAnnotation,
  type StatefulSetOptions,
  taskContainerName,
  terminationGraceSeconds
} from "./InstanceManifests.ts"
import { type PodNames, instanceSelector, makePodNames, ownerLabel } from "./PodNames.ts"
import { byteScales, parseQuantity, readPodState } from "./PodState.ts"
import type { PodWatch } from "./PodWatch.ts"

interface InstanceObjectsOptions {
  readonly client: ClusterClient
  readonly watch: PodWatch
  readonly backend: BackendPeer
  /** Name of the newest runtime image. */
  readonly image: string
  /** Permission model of the image's Node.js. */
  readonly permission: PermissionFlags
  /** One directory per owner, for logs. */
  readonly directory: string
}

export interface AcceptedVersion {
  readonly image: string
  readonly runtimeVersion: string
}

/** Maximum delay to detect a change of a pod that the watch does not report. */
const longestUnnoticed = Duration.seconds(1)
const mib = 1024 * 1024
const removalTimeout = Duration.seconds(terminationGraceSeconds + 30)
const taskTimeout = Duration.seconds(90)

const stuck = (subject: string) =>
  new ClusterResourcesMissing({
    reason: `${subject} did not end within ${Duration.format(removalTimeout)}`,
    advice: "Check its node, which may be lost, with `kubectl get nodes`."
  })

export const findAccepted = ({ metadata: { annotations } }: StatefulSet): Option.Option<AcceptedVersion> => {
  const image = annotations[acceptedImageAnnotation]
  return image === undefined
    ? Option.none()
    : Option.some({ image, runtimeVersion: annotations[runtimeVersionAnnotation] ?? "unknown" })
}

const ownersOf = (objects: ReadonlyArray<Pick<StatefulSet, "metadata">>) =>
  [...new Set(objects.flatMap(({ metadata: { labels } }) => labels[ownerLabel] ?? []))].map((owner) =>
    UserId.make(owner)
  )

/** Objects of instances in the namespace. Their names, labels and annotations are the driver's complete state. */
export const make = ({ backend, client, directory, image, permission, watch }: InstanceObjectsOptions) => {
  const { namespace } = client

  /** Reads a pod until a decision is possible: at once, after each change, and at least every second. */
  const awaitPod = <A, E>(
    name: string,
    decide: (pod: Option.Option<Pod>) => Effect.Effect<Option.Option<A>, E>
  ): Effect.Effect<A, ClusterError | E> =>
    Stream.merge(
      Stream.filter(watch.changes, (changed) => changed === name),
      Stream.tick(longestUnnoticed)
    ).pipe(
      Stream.buffer({ capacity: 1, strategy: "sliding" }),
      Stream.mapEffect(() => Effect.flatMap(client.getPod(name), decide)),
      Stream.filterMap((decision) => decision),
      Stream.runHead,
      Effect.flatMap(Option.match({ onNone: () => Effect.never, onSome: Effect.succeed }))
    )

  const awaitPodGone = (name: string) =>
    awaitPod(name, (pod) => Effect.succeed(Option.isNone(pod) ? Option.some(pod) : Option.none())).pipe(
      Effect.interruptible,
      Effect.timeoutFail({
        duration: removalTimeout,
        onTimeout: () => stuck(`The pod ${name}`)
      })
    )

  const makeManifest = (
    spec: InstanceSpec,
    names: PodNames,
    options: Omit<StatefulSetOptions, "namespace" | "permission">
  ) => makeStatefulSet(spec, names, { ...options, namespace, permission })

  /** Applies a claim, which can grow if its storage class allows it, but never shrink. */
  const applyClaim = Effect.fnUntraced(function* ({ diskMb }: InstanceSpec, names: PodNames) {
    const claim = yield* client.getVolumeClaim(names.name)
    const currentMb = Option.match(claim, {
      onNone: () => 0,
      onSome: ({ spec }) => (parseQuantity(spec.resources.requests.storage, byteScales) ?? 0) / mib
    })
    if (diskMb <= currentMb) return
    yield* client.apply("persistentvolumeclaims", makeVolumeClaim({ diskMb }, names, namespace)).pipe(
      Effect.catchIf(
        ({ _tag }) => currentMb > 0 && (_tag === "ClusterAccessForbidden" || _tag === "ClusterRequestRejected"),
        ({ message }) =>
          Effect.logWarning("Volume not enlarged").pipe(Effect.annotateLogs({ userId: names.owner, reason: message }))
      )
    )
  })

  /** Applies every object of the instance, the StatefulSet last, since it requires the others. */
  const apply = Effect.fnUntraced(function* (
    spec: InstanceSpec,
    names: PodNames,
    options: Omit<StatefulSetOptions, "namespace" | "permission">
  ) {
    yield* Effect.orDie(
      tryFileOperation(`making ${names.directory}`, () => mkdir(names.directory, { recursive: true, mode: 0o700 }))
    )
    yield* Effect.all(
      [
        applyClaim(spec, names),
        client.apply("secrets", makeSecret(spec, names, namespace)),
        client.apply("services", makeService(names, namespace)),
        client.apply("networkpolicies", makeNetworkPolicy(names, namespace, backend)),
        client.apply("poddisruptionbudgets", makeDisruptionBudget(names, namespace))
      ],
      { concurrency: 5, discard: true }
    )
    yield* client.apply("statefulsets", makeManifest(spec, names, options))
  })

  /** Saves the log of the pod on the backend's disk, since the cluster deletes it with the pod. */
  const saveLog = Effect.fnUntraced(function* (names: PodNames, isPrevious: boolean) {
    const log = Option.getOrElse(yield* client.readLog(names.pod, containerName, isPrevious), () => "")
    if (log !== "")
      yield* InstanceLogFile.append(names, `${log.slice(-InstanceLogFile.maximumLogBytes).replace(/\n$/, "")}\n`)
  })

  /** Ends the pod, by force after a grace period, and saves its log. Idempotent. */
  const stop = Effect.fnUntraced(function* (names: PodNames) {
    const pod = yield* client.getPod(names.pod)
    if (Option.isSome(pod)) {
      const state = readPodState(pod.value)
      yield* saveLog(names, state._tag === "Ended" && state.isPrevious)
    }
    yield* client.scale(names.name, 0)
    if (Option.isSome(pod)) yield* awaitPodGone(names.pod)
  })

  const runTask = Effect.fnUntraced(function* (names: PodNames, command: ReadonlyArray<string>) {
    if (Option.isNone(yield* client.getVolumeClaim(names.name))) return
    const [found, pod] = yield* Effect.all([client.getStatefulSet(names.name), client.getPod(names.pod)], {
      concurrency: 2
    })
    const accepted = Option.flatMap(found, findAccepted)
    const manifest = makeTaskPod(names, {
      namespace,
      command,
      image: Option.match(accepted, { onNone: () => image, onSome: (version) => version.image }),
      isRunning: Option.isSome(pod)
    })
    const removeTask = Effect.zipRight(client.remove("pods", names.task), awaitPodGone(names.task))
    // A killed backend may have left a task.
    yield* removeTask
    yield* Effect.acquireUseRelease(
      client.createPod(manifest),
      () =>
        awaitPod(names.task, (task) => {
          const phase = Option.match(task, { onNone: () => "Failed", onSome: ({ status }) => status.phase })
          if (phase === "Succeeded") return Effect.succeedSome(phase)
          if (phase !== "Failed") return Effect.succeedNone
          return Effect.flatMap(client.readLog(names.task, taskContainerName), (log) => {
            const reason = Option.match(task, {
              onNone: () => "its pod was removed",
              onSome: ({ status }) => status.message
            })
            return new InstanceTaskFailed({
              reason: `${reason} ${Option.getOrElse(log, () => "").slice(-500)}`.trim()
            })
          })
        }).pipe(
          Effect.timeoutFail({
            duration: taskTimeout,
            onTimeout: () =>
              new ClusterResourcesMissing({
                reason: `The pod ${names.task} did not finish within ${Duration.format(taskTimeout)}`,
                advice: "Check the namespace with `kubectl get events`."
              })
          })
        ),
      () => Effect.orDie(client.remove("pods", names.task))
    )
    yield* awaitPodGone(names.task)
  })

  const removeEntries = (names: PodNames, path: string, kept: ReadonlyArray<string>) =>
    runTask(names, makeRemovalCommand(path, kept))

  return {
    namesOf: (owner: UserId) => makePodNames(owner, directory),
    image,
    apply,
    /** Applies only the StatefulSet. */
    applySet: (spec: InstanceSpec, names: PodNames, options: Omit<StatefulSetOptions, "namespace" | "permission">) =>
      client.apply("statefulsets", makeManifest(spec, names, options)),
    /** Whether a pod was created from the manifest of these settings. */
    hasProfile: (pod: Pod, spec: InstanceSpec, names: PodNames, from: string): boolean => {
      const { spec: desired } = makeManifest(spec, names, { image: from, accepted: null, replicas: 1 })
      return (
        pod.metadata.annotations[profileAnnotation] === desired?.template.metadata?.annotations?.[profileAnnotation]
      )
    },
    awaitPod,
    stop,
    removeOtherAgents: (names: PodNames, kept: ReadonlyArray<AgentId>) =>
      removeEntries(names, `${instanceHome}/${runtimeAgentsDirectory}`, kept),
    /** Removes all files except those of the agents. */
    resetFiles: (names: PodNames) => removeEntries(names, instanceHome, [runtimeAgentsDirectory]),
    /** Removes every object of the owner; the claim last, since `listOwners` finds the owner by it. Idempotent. */
    removeAll: Effect.fnUntraced(function* (names: PodNames) {
      yield* client.remove("pods", names.task)
      for (const resource of [
        "statefulsets",
        "services",
        "secrets",
        "networkpolicies",
        "poddisruptionbudgets"
      ] as const)
        yield* client.remove(resource, names.name)
      yield* Effect.all([awaitPodGone(names.pod), awaitPodGone(names.task)], { concurrency: 2 })
      yield* client.remove("persistentvolumeclaims", names.name)
      // A start would use a claim that is being deleted.
      yield* client
        .getVolumeClaim(names.name)
        .pipe(
          Effect.repeat({ until: Option.isNone, schedule: Schedule.spaced("200 millis") }),
          Effect.interruptible,
          Effect.timeoutFail({ duration: removalTimeout, onTimeout: () => stuck(`The claim ${names.name}`) })
        )
    }),
    /** Returns the versions of the controller's warnings so far, which are stored for an hour. */
    listWarningVersions: (names: PodNames) =>
      Effect.map(
        client.listWarnings("StatefulSet", names.name),
        (warnings) => new Set(warnings.map(({ metadata }) => metadata.resourceVersion))
      ),
    /** Returns the reason why the controller cannot create the pod, from a new warning. */
    findDenial: (names: PodNames, known: ReadonlySet<string>) =>
      Effect.map(client.listWarnings("StatefulSet", names.name), (warnings) =>
        Option.map(
          Option.fromNullable(warnings.findLast(({ metadata }) => !known.has(metadata.resourceVersion))),
          ({ message }) =>
            /exceeded quota/.test(message)
              ? new ClusterQuotaExceeded({ reason: message })
              : new ClusterAdmissionDenied({ reason: message })
        )
      ),
    findClaimProblem: (names: PodNames) =>
      Effect.map(client.getVolumeClaim(names.name), (claim) =>
        Option.filter(
          Option.map(claim, ({ status }) => status.phase),
          (phase) => phase !== "Bound"
        )
      ),
    listOwners: Effect.map(client.listVolumeClaims(instanceSelector), ({ items }) =>
      ownersOf(items.filter(({ metadata: { deletionTimestamp } }) => deletionTimestamp === undefined))
    ),
    /**
     * Counts sets with a replica: a pod ends without one, and a pod that the cluster cannot yet create does not exist.
     */
    listRunning: Effect.map(client.listStatefulSets(instanceSelector), ({ items }) =>
      ownersOf(items.filter(({ spec: { replicas } }) => replicas > 0))
    )
  }
}
export type InstanceObjects = ReturnType<typeof make>
