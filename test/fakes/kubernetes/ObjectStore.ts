import { randomUUID } from "node:crypto"
import { isDeepStrictEqual } from "node:util"
import { type Managers, toManagedFields } from "./FieldManagement.ts"
import { copy, type JsonObject, objectAt, objectsAt, textAt, textsAt } from "./Json.ts"

export interface StoredChange {
  readonly version: number
  readonly type: "ADDED" | "MODIFIED" | "DELETED"
  readonly resource: string
  readonly namespace: string
  readonly object: JsonObject
}

export const now = () => new Date().toISOString().replace(/\.\d+Z$/, "Z")

export const nameOf = (object: JsonObject) => textAt(object, "metadata", "name")
export const namespaceOf = (object: JsonObject) => textAt(object, "metadata", "namespace")

export const matchesSelector = (selector: string, object: JsonObject): boolean => {
  const labels = objectAt(object, "metadata", "labels")
  return selector
    .split(",")
    .filter((term) => term !== "")
    .every((term) => {
      const [name = "", value] = term.split(/==?/)
      return value === undefined ? labels[name] !== undefined : labels[name] === value
    })
}

export const matchesFields = (selector: string, object: JsonObject): boolean =>
  selector
    .split(",")
    .filter((term) => term !== "")
    .every((term) => {
      const [path = "", value = ""] = term.split(/==?/)
      return textAt(object, ...path.split(".")) === value
    })

/** The objects of a cluster with their versions, and the history that watches resume from. */
export const makeObjectStore = () => {
  const objects = new Map<string, { readonly object: JsonObject; readonly managers: Managers }>()
  const listeners = new Set<(change: StoredChange) => void>()
  let history: Array<StoredChange> = []
  let version = 1
  let compacted = 0

  const keyOf = (resource: string, namespace: string, name: string) => `${resource}/${namespace}/${name}`
  const get = (resource: string, namespace: string, name: string) => {
    const found = objects.get(keyOf(resource, namespace, name))?.object
    return found === undefined ? undefined : copy(found)
  }
  const managersOf = (resource: string, namespace: string, name: string): Managers =>
    objects.get(keyOf(resource, namespace, name))?.managers ?? new Map()

  const record = (type: StoredChange["type"], resource: string, object: JsonObject) => {
    const change = { version, type, resource, namespace: namespaceOf(object), object: copy(object) }
    history.push(change)
    for (const listener of listeners) listener(change)
  }

  const remove = (resource: string, namespace: string, name: string) => {
    const key = keyOf(resource, namespace, name)
    const found = objects.get(key)
    if (found === undefined) return
    objects.delete(key)
    version += 1
    record("DELETED", resource, {
      ...found.object,
      metadata: { ...objectAt(found.object, "metadata"), resourceVersion: String(version) }
    })
  }

  /** Stores a changed object under the next version. Removes a deleted one without finalizers. */
  const put = (resource: string, object: JsonObject, managers?: Managers): JsonObject => {
    const namespace = namespaceOf(object)
    const name = nameOf(object)
    const key = keyOf(resource, namespace, name)
    const before = objects.get(key)
    const kept = managers ?? before?.managers ?? new Map()
    const own = objectAt(object, "metadata")
    const old = objectAt(before?.object, "metadata")
    const isChanged =
      before === undefined || !isDeepStrictEqual(objectAt(before.object, "spec"), objectAt(object, "spec"))
    const generation = typeof old["generation"] === "number" ? old["generation"] : 0
    const metadata = {
      ...own,
      uid: old["uid"] ?? randomUUID(),
      creationTimestamp: old["creationTimestamp"] ?? now(),
      generation: isChanged ? generation + 1 : generation,
      resourceVersion: old["resourceVersion"] ?? "",
      managedFields: toManagedFields(kept, textAt(object, "apiVersion"))
    }
    const stored = copy({ ...object, metadata })
    if (before !== undefined && isDeepStrictEqual(copy(before.object), stored)) return stored
    version += 1
    const next = copy({ ...stored, metadata: { ...metadata, resourceVersion: String(version) } })
    objects.set(key, { object: next, managers: kept })
    record(before === undefined ? "ADDED" : "MODIFIED", resource, next)
    if (
      textAt(next, "metadata", "deletionTimestamp") !== "" &&
      textsAt(next, "metadata", "finalizers").length === 0 &&
      resource !== "pods"
    )
      remove(resource, namespace, name)
    return copy(next)
  }

  return {
    get,
    managersOf,
    put,
    remove,
    list: (resource: string, namespace: string | undefined) =>
      [...objects]
        .filter(([key]) => key.startsWith(`${resource}/${namespace === undefined ? "" : `${namespace}/`}`))
        .map(([, { object }]) => copy(object)),
    /** Changes the object if it exists. */
    change: (resource: string, namespace: string, name: string, work: (object: JsonObject) => object) => {
      const found = get(resource, namespace, name)
      if (found !== undefined) put(resource, copy(work(found)))
    },
    currentVersion: () => version,
    /** Clears the history: older versions have expired. */
    compact: () => {
      compacted = version
      history = []
    },
    isExpired: (from: number) => from < compacted,
    changesAfter: (from: number) => history.filter((change) => change.version > from),
    onChange: (listener: (change: StoredChange) => void) => {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    count: (namespace: string) =>
      [...objects.values()].filter(
        ({ object }) => namespaceOf(object) === namespace && textAt(object, "kind") !== "Event"
      ).length,
    conditionsOf: (object: JsonObject) => objectsAt(object, "status", "conditions")
  }
}
export type ObjectStore = ReturnType<typeof makeObjectStore>
