import { isDeepStrictEqual } from "node:util"
import { copy, isObject, type JsonObject, objectAt, parseJson } from "./Json.ts"

/** Path segments: a field name, or the keys of a list item as JSON after `k:`. */
type Path = ReadonlyArray<string>

/** The paths of each manager, by `<manager>/<operation>[/<subresource>]`. */
export type Managers = Map<string, ReadonlySet<string>>

export class ApplyConflict extends Error {}

const listKeys: Readonly<Record<string, ReadonlyArray<string>>> = {
  containers: ["name"],
  initContainers: ["name"],
  env: ["name"],
  volumes: ["name"],
  volumeMounts: ["mountPath"],
  ports: ["containerPort", "protocol"]
}

const keysOf = (field: string, list: ReadonlyArray<unknown>): ReadonlyArray<string> | undefined => {
  const keys = listKeys[field]
  if (keys === undefined || !list.every(isObject)) return undefined
  if (field !== "ports") return keys
  // Ports of a Service; other lists named `ports` are inside of atomic ones.
  return list.every((item) => isObject(item) && "port" in item) ? ["port", "protocol"] : keys
}

const segmentOf = (item: JsonObject, keys: ReadonlyArray<string>) =>
  `k:${JSON.stringify(Object.fromEntries(keys.map((key) => [key, item[key]])))}`

const unowned = new Set(["apiVersion", "kind"])
const unownedMetadata = new Set([
  "name",
  "namespace",
  "uid",
  "resourceVersion",
  "generation",
  "creationTimestamp",
  "managedFields",
  "deletionTimestamp",
  "deletionGracePeriodSeconds"
])

/** The paths of an object's leaves: scalars, empty objects and atomic lists. */
const listPaths = (value: unknown, path: Path = []): ReadonlyArray<Path> => {
  if (isObject(value) && Object.keys(value).length > 0)
    return Object.entries(value).flatMap(([name, inner]) =>
      (path.length === 0 && unowned.has(name)) ||
      (path.length === 1 && path[0] === "metadata" && unownedMetadata.has(name))
        ? []
        : listPaths(inner, [...path, name])
    )
  if (Array.isArray(value) && value.length > 0) {
    const keys = keysOf(path.at(-1) ?? "", value)
    if (keys !== undefined)
      return value.filter(isObject).flatMap((item) => listPaths(item, [...path, segmentOf(item, keys)]))
  }
  return [path]
}

const encode = (path: Path) => JSON.stringify(path)
const decode = (text: string): Path => {
  const path = parseJson(text)
  return Array.isArray(path) ? path.filter((segment) => typeof segment === "string") : []
}

const isItem = (item: unknown, segment: string): boolean => {
  const keys = parseJson(segment.slice(2))
  return isObject(item) && isObject(keys) && Object.entries(keys).every(([name, value]) => item[name] === value)
}

const step = (value: unknown, segment: string): unknown => {
  if (Array.isArray(value)) return value.find((item) => isItem(item, segment))
  return isObject(value) ? value[segment] : undefined
}
const valueAt = (object: JsonObject, path: Path): unknown => path.reduce<unknown>(step, object)

/** Removes a leaf, and the objects and items that become empty. */
const removeAt = (value: unknown, [segment = "", ...rest]: Path): unknown => {
  const inner = step(value, segment)
  const kept = rest.length === 0 ? undefined : removeAt(inner, rest)
  const isEmpty =
    kept === undefined ||
    (isObject(kept) && Object.keys(kept).length === 0) ||
    (Array.isArray(kept) && kept.length === 0)
  if (Array.isArray(value))
    return isEmpty
      ? value.filter((item) => !isItem(item, segment))
      : value.map((item: unknown) => (isItem(item, segment) ? kept : item))
  if (!isObject(value)) return value
  const { [segment]: _, ...others } = value
  return isEmpty ? others : { ...others, [segment]: kept }
}

/** Merges as a strategic merge patch: objects by field, keyed lists by item, null removes. */
export const merge = (live: unknown, patch: unknown, field = ""): unknown => {
  if (isObject(patch)) {
    const base = isObject(live) ? { ...live } : {}
    for (const [name, value] of Object.entries(patch)) {
      if (value === null) delete base[name]
      else base[name] = merge(base[name], value, name)
    }
    return base
  }
  if (!Array.isArray(patch) || !Array.isArray(live)) return patch
  const keys = keysOf(field, patch)
  if (keys === undefined) return patch
  const items = patch.filter(isObject)
  const segments = items.map((item) => segmentOf(item, keys))
  const kept = live.map((item: unknown) => {
    const index = segments.findIndex((segment) => isItem(item, segment))
    return index === -1 ? item : merge(item, items[index])
  })
  return [
    ...kept,
    ...items.filter((_, index) => !live.some((item: unknown) => isItem(item, segments[index] ?? "k:{}")))
  ]
}

/** JSON merge patch (RFC 7386). */
export const mergePatch = (live: unknown, patch: unknown): unknown => {
  if (!isObject(patch)) return patch
  const base = isObject(live) ? { ...live } : {}
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete base[name]
    else base[name] = mergePatch(base[name], value)
  }
  return base
}

interface ApplyOptions {
  readonly manager: string
  readonly force: boolean
}

/**
 * Server-side apply: removes fields that the manager no longer applies, keeps those of others, and reports conflicts.
 */
export const applyFields = (
  live: JsonObject,
  applied: JsonObject,
  managers: Managers,
  { force, manager }: ApplyOptions
): { readonly object: JsonObject; readonly managers: Managers } => {
  const own = `${manager}/Apply`
  const paths = listPaths(applied)
  const encoded = new Set(paths.map(encode))
  const others = [...managers].filter(([name]) => name !== own)
  const conflicts = paths.flatMap((path) =>
    isDeepStrictEqual(valueAt(live, path), valueAt(applied, path))
      ? []
      : others
          .filter(([, owned]) => owned.has(encode(path)))
          .map(([name]) => `conflict with "${name.split("/")[0]}": .${path.join(".")}`)
  )
  if (conflicts.length > 0 && !force)
    throw new ApplyConflict(
      `Apply failed with ${conflicts.length} conflict${conflicts.length > 1 ? "s" : ""}: ${conflicts.join(", ")}`
    )
  const next: Managers = new Map(
    others.map(([name, owned]) => [
      name,
      new Set(
        [...owned].filter(
          (path) => !encoded.has(path) || isDeepStrictEqual(valueAt(live, decode(path)), valueAt(applied, decode(path)))
        )
      )
    ])
  )
  next.set(own, encoded)
  const kept = [encoded, ...others.map(([, owned]) => owned)].flatMap((owned) => [...owned])
  // A path stays while a path below it remains.
  const dropped = [...(managers.get(own) ?? [])].filter(
    (path) => !kept.some((other) => other === path || other.startsWith(`${path.slice(0, -1)},`))
  )
  const merged = dropped.reduce<unknown>((object, path) => removeAt(object, decode(path)), merge(live, applied))
  return { object: isObject(merged) ? copy(merged) : live, managers: next }
}

/** An update or patch: the manager owns the changed fields. */
export const trackUpdate = (before: JsonObject, after: JsonObject, managers: Managers, manager: string): Managers => {
  const [old, wanted] = [
    { ...before, status: undefined },
    { ...after, status: undefined }
  ]
  const changed = new Set(
    listPaths(copy(wanted))
      .filter((path) => !isDeepStrictEqual(valueAt(old, path), valueAt(wanted, path)))
      .map(encode)
  )
  const next: Managers = new Map(
    [...managers].map(([name, owned]) => [
      name,
      new Set([...owned].filter((path) => !changed.has(path) && valueAt(wanted, decode(path)) !== undefined))
    ])
  )
  if (changed.size > 0) next.set(manager, new Set([...(next.get(manager) ?? []), ...changed]))
  return next
}

/** The managers as `metadata.managedFields`. */
export const toManagedFields = (managers: Managers, apiVersion: string): ReadonlyArray<JsonObject> =>
  [...managers]
    .filter(([, paths]) => paths.size > 0)
    .map(([name, paths]) => {
      const [manager = "", operation = "", subresource] = name.split("/")
      const tree: JsonObject = {}
      for (const path of paths)
        decode(path).reduce((branch, segment) => {
          const key = segment.startsWith("k:") ? segment : `f:${segment}`
          branch[key] = objectAt(branch, key)
          return objectAt(branch, key)
        }, tree)
      return {
        manager,
        operation,
        apiVersion,
        fieldsType: "FieldsV1",
        fieldsV1: tree,
        ...(subresource === undefined ? {} : { subresource })
      }
    })
