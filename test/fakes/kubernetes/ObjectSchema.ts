import * as client from "@kubernetes/client-node"
import { Predicate, Schema } from "effect"
import { isObject, type JsonObject, objectAt, objectsAt, textAt } from "./Json.ts"

/** The fields of each type, from the published OpenAPI document that the client's models are generated from. */
const models = new Map<string, unknown>(Object.entries(client))
const Attributes = Schema.Array(Schema.Struct({ baseName: Schema.String, type: Schema.String, format: Schema.String }))
const decodeAttributes = Schema.decodeUnknownSync(Attributes)

const attributesOf = (type: string): typeof Attributes.Type | undefined => {
  const model = models.get(type)
  return Predicate.hasProperty(model, "attributeTypeMap") ? decodeAttributes(model.attributeTypeMap) : undefined
}

/** Required fields that the models do not mark. */
const required: Readonly<Record<string, ReadonlyArray<string>>> = {
  V1StatefulSetSpec: ["selector", "template", "serviceName"],
  V1PodSpec: ["containers"],
  V1Container: ["name", "image"],
  V1ContainerPort: ["containerPort"],
  V1EnvVar: ["name"],
  V1VolumeMount: ["name", "mountPath"],
  V1Volume: ["name"],
  V1ServicePort: ["port"],
  V1NetworkPolicySpec: ["podSelector"],
  V1PodAffinityTerm: ["topologyKey"],
  V1PersistentVolumeClaimSpec: ["accessModes", "resources"],
  V1SecretKeySelector: ["key"]
}

const integers = new Set(["int32", "int64"])

/** Field errors as strict field validation reports them. */
const findTypeFaults = (value: unknown, type: string, format: string, path: string): ReadonlyArray<string> => {
  const wrong = [`unable to decode "${path}": expected ${type}, got ${JSON.stringify(value)}`]
  const item = /^(?:Array|Set)<(.+)>$/.exec(type)?.[1]
  if (item !== undefined)
    return Array.isArray(value)
      ? value.flatMap((inner, index) => findTypeFaults(inner, item, format, `${path}[${index}]`))
      : wrong
  const member = /^\{ \[key: string\]: (.+); \}$/.exec(type)?.[1]
  if (member !== undefined)
    return isObject(value)
      ? Object.entries(value).flatMap(([name, inner]) => findTypeFaults(inner, member, format, `${path}.${name}`))
      : wrong
  if (type === "string") return typeof value === "string" ? [] : wrong
  if (type === "boolean") return typeof value === "boolean" ? [] : wrong
  if (type === "number")
    return typeof value === "number" && (!integers.has(format) || Number.isInteger(value)) ? [] : wrong
  if (type === "Date" || type === "V1MicroTime") return typeof value === "string" ? [] : wrong
  if (type === "IntOrString") return typeof value === "string" || Number.isInteger(value) ? [] : wrong
  if (type === "any" || type === "object") return []
  const attributes = attributesOf(type)
  if (attributes === undefined) return [`${path}: the fake has no schema of ${type}`]
  if (!isObject(value)) return wrong
  const known = new Map(attributes.map((attribute) => [attribute.baseName, attribute]))
  return [
    ...Object.entries(value).flatMap(([name, inner]) => {
      const attribute = known.get(name)
      const inside = path === "" ? name : `${path}.${name}`
      if (attribute === undefined) return [`unknown field "${inside}"`]
      return inner === null ? [] : findTypeFaults(inner, attribute.type, attribute.format, inside)
    }),
    ...(required[type] ?? [])
      .filter((name) => value[name] === undefined)
      .map((name) => `${path}.${name}: Required value`)
  ]
}

const dnsLabel = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/
const dnsSubdomain = /^(?=.{1,253}$)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/
const labelName = /^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/
const labelValue = /^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$/
const quantity = /^\d+(\.\d+)?(m|k|M|G|T|Ki|Mi|Gi|Ti)?$/

const isQualifiedName = (key: string): boolean => {
  const [first = "", second, ...more] = key.split("/")
  if (more.length > 0) return false
  return second === undefined ? labelName.test(first) : dnsSubdomain.test(first) && labelName.test(second)
}

const findMapFaults = (map: JsonObject, path: string, isValue: (value: string) => boolean) =>
  Object.entries(map).flatMap(([key, value]) => [
    ...(isQualifiedName(key)
      ? []
      : [`${path}: Invalid value: "${key}": name part must consist of alphanumeric characters`]),
    ...(typeof value === "string" && !isValue(value)
      ? [
          `${path}: Invalid value: "${value}": a valid label must be an empty string or consist of alphanumeric characters`
        ]
      : [])
  ])

/** The labels derived from a name must fit into 63 characters. */
const longestStatefulSetName = 52

const findNameFaults = (kind: string, name: string): ReadonlyArray<string> => {
  if (kind === "Service")
    return /^[a-z]/.test(name) && dnsLabel.test(name)
      ? []
      : [`metadata.name: Invalid value: "${name}": a DNS-1035 label must start with an alphabetic character`]
  if (kind === "StatefulSet" && name.length > longestStatefulSetName)
    return [`metadata.name: Invalid value: "${name}": must be no more than ${longestStatefulSetName} characters`]
  return dnsSubdomain.test(name)
    ? []
    : [
        `metadata.name: Invalid value: "${name}": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters`
      ]
}

const findMetadataFaults = (metadata: JsonObject, path: string) => [
  ...findMapFaults(objectAt(metadata, "labels"), `${path}.labels`, (value) => labelValue.test(value)),
  ...findMapFaults(objectAt(metadata, "annotations"), `${path}.annotations`, () => true)
]

const matches = (selector: JsonObject, labels: JsonObject): boolean =>
  Object.entries(selector).every(([name, value]) => labels[name] === value)

const findPodFaults = (spec: JsonObject, path: string): ReadonlyArray<string> => {
  const volumes = new Set(objectsAt(spec, "volumes").map((volume) => textAt(volume, "name")))
  return objectsAt(spec, "containers").flatMap((container, index) => {
    const here = `${path}.containers[${index}]`
    const limits = objectAt(container, "resources", "limits")
    return [
      ...(dnsLabel.test(textAt(container, "name")) ? [] : [`${here}.name: Invalid value`]),
      ...objectsAt(container, "volumeMounts")
        .filter((mount) => !volumes.has(textAt(mount, "name")))
        .map((mount) => `${here}.volumeMounts: Not found: "${textAt(mount, "name")}"`),
      ...Object.entries({ ...limits, ...objectAt(container, "resources", "requests") })
        .filter(([, value]) => typeof value === "string" && !quantity.test(value))
        .map(([name]) => `${here}.resources: Invalid value: "${name}"`)
    ]
  })
}

/** The faults for which an API server rejects an object: strict field validation, then the rules of its kind. */
export const findObjectFaults = (object: JsonObject, type: string): ReadonlyArray<string> => {
  const kind = textAt(object, "kind")
  const faults = findTypeFaults(object, type, "", "")
  if (faults.length > 0) return faults
  const metadata = objectAt(object, "metadata")
  const common = [...findNameFaults(kind, textAt(metadata, "name")), ...findMetadataFaults(metadata, "metadata")]
  if (kind === "Pod") return [...common, ...findPodFaults(objectAt(object, "spec"), "spec")]
  if (kind !== "StatefulSet") return common
  const template = objectAt(object, "spec", "template")
  const restartPolicy = textAt(template, "spec", "restartPolicy")
  return [
    ...common,
    ...findMetadataFaults(objectAt(template, "metadata"), "spec.template.metadata"),
    ...findPodFaults(objectAt(template, "spec"), "spec.template.spec"),
    ...(restartPolicy === "" || restartPolicy === "Always"
      ? []
      : [`spec.template.spec.restartPolicy: Unsupported value: "${restartPolicy}": supported values: "Always"`]),
    ...(matches(objectAt(object, "spec", "selector", "matchLabels"), objectAt(template, "metadata", "labels"))
      ? []
      : ["spec.template.metadata.labels: Invalid value: `selector` does not match template `labels`"])
  ]
}

const mutableStatefulSetFields = new Set([
  "replicas",
  "ordinals",
  "template",
  "updateStrategy",
  "revisionHistoryLimit",
  "persistentVolumeClaimRetentionPolicy",
  "minReadySeconds"
])

const toMebibytes = (text: string): number => {
  const [, number = "0", unit = ""] = /^(\d+)(\w*)$/.exec(text) ?? []
  return Number(number) * (unit === "Gi" ? 1024 : unit === "Mi" ? 1 : 1 / 1024 / 1024)
}

/** The faults of changes to immutable fields. */
export const findChangeFaults = (before: JsonObject, after: JsonObject): ReadonlyArray<string> => {
  const kind = textAt(after, "kind")
  const [old, wanted] = [objectAt(before, "spec"), objectAt(after, "spec")]
  const changed = [...new Set([...Object.keys(old), ...Object.keys(wanted)])].filter(
    (name) => JSON.stringify(old[name]) !== JSON.stringify(wanted[name])
  )
  if (kind === "StatefulSet" && changed.some((name) => !mutableStatefulSetFields.has(name)))
    return [
      "spec: Forbidden: updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"
    ]
  if (kind === "Pod" && changed.length > 0)
    return ["spec: Forbidden: pod updates may not change fields other than image"]
  if (kind === "PersistentVolumeClaim") {
    const sizeOf = (spec: JsonObject) => toMebibytes(textAt(spec, "resources", "requests", "storage"))
    if (changed.some((name) => name !== "resources" && name !== "volumeName"))
      return [
        "spec: Forbidden: spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims"
      ]
    if (sizeOf(wanted) < sizeOf(old))
      return ["spec.resources.requests.storage: Forbidden: field can not be less than previous value"]
  }
  return []
}
