// Controllers of a real cluster retry on timers.
import { setTimeout } from "node:timers"
import { at, copy, type JsonObject, objectAt, objectsAt, textAt, textsAt } from "./Json.ts"
import type { Kubelet } from "./Kubelet.ts"
import { matchesSelector, nameOf, namespaceOf, now, type ObjectStore, type StoredChange } from "./ObjectStore.ts"

const creationBackoffMs = 200
const claimFinalizer = "kubernetes.io/pvc-protection"

interface ControllersOptions {
  readonly store: ObjectStore
  readonly kubelet: Kubelet
  /** The admission plugins' reason to reject a pod; empty to admit it. */
  readonly denyPod: (pod: JsonObject) => string
  /** The reason why no node accepts a pod; empty if one does. */
  readonly denyNode: (pod: JsonObject) => string
  readonly bindsClaims: () => boolean
}

const selectorOf = (labels: JsonObject) =>
  Object.entries(labels)
    .map(([name, value]) => `${name}=${String(value)}`)
    .join(",")

/** The controllers that the driver relies on: StatefulSet, scheduler, volume binder, garbage collector. */
export const runControllers = ({
  bindsClaims,
  denyNode,
  denyPod,
  kubelet,
  store
}: ControllersOptions): (() => void) => {
  let isClosed = false
  const delayed = (work: () => void) => setTimeout(() => (isClosed ? undefined : work()), creationBackoffMs).unref()

  const warn = (involved: JsonObject, reason: string, message: string) => {
    const kind = textAt(involved, "kind")
    const namespace = namespaceOf(involved)
    const name = `${nameOf(involved)}.${reason.toLowerCase()}`
    const before = store.get("events", namespace, name)
    const count = at(before, "count")
    store.put("events", {
      apiVersion: "v1",
      kind: "Event",
      metadata: { ...objectAt(before, "metadata"), name, namespace },
      involvedObject: { kind, namespace, name: nameOf(involved) },
      type: "Warning",
      reason,
      message,
      count: typeof count === "number" ? count + 1 : 1,
      lastTimestamp: now()
    })
  }

  const endPod = (pod: JsonObject) => {
    if (textAt(pod, "metadata", "deletionTimestamp") !== "") return
    const grace = at(pod, "spec", "terminationGracePeriodSeconds")
    store.put("pods", {
      ...pod,
      metadata: {
        ...objectAt(pod, "metadata"),
        deletionTimestamp: now(),
        deletionGracePeriodSeconds: typeof grace === "number" ? grace : 30
      }
    })
  }

  const reconcileSet = (namespace: string, name: string): void => {
    const set = store.get("statefulsets", namespace, name)
    const pod = store.get("pods", namespace, `${name}-0`)
    if (set === undefined || textAt(set, "metadata", "deletionTimestamp") !== "") {
      if (pod !== undefined && objectsAt(pod, "metadata", "ownerReferences").some((owner) => owner["name"] === name))
        endPod(pod)
      return
    }
    const replicas = at(set, "spec", "replicas") ?? 1
    if (replicas === 0 && pod !== undefined) endPod(pod)
    const isReady = objectsAt(pod, "status", "conditions").some(
      ({ status, type }) => type === "Ready" && status === "True"
    )
    store.change("statefulsets", namespace, name, (found) => ({
      ...found,
      status: {
        observedGeneration: at(found, "metadata", "generation"),
        replicas: pod === undefined ? 0 : 1,
        readyReplicas: isReady ? 1 : 0,
        availableReplicas: isReady ? 1 : 0
      }
    }))
    if (replicas === 0 || pod !== undefined) return
    const template = objectAt(set, "spec", "template")
    const created = copy({
      apiVersion: "v1",
      kind: "Pod",
      metadata: {
        ...objectAt(template, "metadata"),
        name: `${name}-0`,
        namespace,
        ownerReferences: [
          { apiVersion: "apps/v1", kind: "StatefulSet", name, uid: textAt(set, "metadata", "uid"), controller: true }
        ]
      },
      spec: { restartPolicy: "Always", ...objectAt(template, "spec") },
      status: { phase: "Pending" }
    })
    const denial = denyPod(created)
    if (denial === "") store.put("pods", created)
    else {
      warn(set, "FailedCreate", `create Pod ${name}-0 in StatefulSet ${name} failed error: ${denial}`)
      delayed(() => reconcileSet(namespace, name))
    }
  }

  const setCondition = (pod: JsonObject, message: string) =>
    store.change("pods", namespaceOf(pod), nameOf(pod), (found) => ({
      ...found,
      status: {
        phase: "Pending",
        conditions: [{ type: "PodScheduled", status: "False", reason: "Unschedulable", message }]
      }
    }))

  const findUnschedulable = (pod: JsonObject): string => {
    const namespace = namespaceOf(pod)
    for (const volume of objectsAt(pod, "spec", "volumes")) {
      const claim = textAt(volume, "persistentVolumeClaim", "claimName")
      if (claim === "") continue
      const found = store.get("persistentvolumeclaims", namespace, claim)
      if (found === undefined) return `persistentvolumeclaim "${claim}" not found`
      if (textAt(found, "status", "phase") !== "Bound") return "pod has unbound immediate PersistentVolumeClaims"
    }
    const terms = objectsAt(pod, "spec", "affinity", "podAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
    const missing = terms.some((term) => {
      const selector = selectorOf(objectAt(term, "labelSelector", "matchLabels"))
      return !store
        .list("pods", namespace)
        .some((other) => matchesSelector(selector, other) && textAt(other, "spec", "nodeName") !== "")
    })
    return missing ? "0/1 nodes are available: 1 node(s) didn't match pod affinity rules." : denyNode(pod)
  }

  const schedule = (pod: JsonObject): void => {
    const found = store.get("pods", namespaceOf(pod), nameOf(pod))
    if (
      found === undefined ||
      textAt(found, "spec", "nodeName") !== "" ||
      textAt(found, "metadata", "deletionTimestamp") !== ""
    )
      return
    const problem = findUnschedulable(found)
    if (problem !== "") {
      setCondition(found, problem)
      delayed(() => schedule(pod))
      return
    }
    const bound = store.put("pods", { ...found, spec: { ...objectAt(found, "spec"), nodeName: "node-1" } })
    kubelet.start(bound)
  }

  const isClaimUsed = (namespace: string, claim: string) =>
    store
      .list("pods", namespace)
      .some((pod) =>
        objectsAt(pod, "spec", "volumes").some(
          (volume) => textAt(volume, "persistentVolumeClaim", "claimName") === claim
        )
      )

  const reconcileClaim = (claim: JsonObject): void => {
    const [namespace, name] = [namespaceOf(claim), nameOf(claim)]
    if (textAt(claim, "metadata", "deletionTimestamp") !== "") {
      if (isClaimUsed(namespace, name)) return
      store.change("persistentvolumeclaims", namespace, name, (found) => ({
        ...found,
        metadata: {
          ...objectAt(found, "metadata"),
          finalizers: textsAt(found, "metadata", "finalizers").filter((finalizer) => finalizer !== claimFinalizer)
        }
      }))
      return
    }
    if (!bindsClaims()) return
    store.change("persistentvolumeclaims", namespace, name, (found) => ({
      ...found,
      metadata: { ...objectAt(found, "metadata"), finalizers: [claimFinalizer] },
      status: { phase: "Bound", capacity: objectAt(found, "spec", "resources", "requests") }
    }))
  }

  const react = ({ object, resource, type }: StoredChange): void => {
    const [namespace, name] = [namespaceOf(object), nameOf(object)]
    if (resource === "statefulsets") reconcileSet(namespace, name)
    if (resource === "persistentvolumeclaims") {
      if (type === "DELETED") kubelet.removeVolume(namespace, name)
      else reconcileClaim(object)
    }
    if (resource !== "pods") return
    if (type === "ADDED") schedule(object)
    if (type === "MODIFIED" && textAt(object, "metadata", "deletionTimestamp") !== "") kubelet.end(object)
    for (const owner of objectsAt(object, "metadata", "ownerReferences")) reconcileSet(namespace, textAt(owner, "name"))
    if (type === "DELETED") for (const claim of store.list("persistentvolumeclaims", namespace)) reconcileClaim(claim)
  }

  // Controllers run asynchronously after the request that changed an object.
  const stop = store.onChange((change) => queueMicrotask(() => (isClosed ? undefined : react(change))))
  return () => {
    isClosed = true
    stop()
  }
}
