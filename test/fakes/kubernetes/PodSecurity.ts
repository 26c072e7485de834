import { at, isObject, type JsonObject, objectAt, objectsAt, textAt, textsAt } from "./Json.ts"

const volumeKinds = new Set([
  "configMap",
  "csi",
  "downwardAPI",
  "emptyDir",
  "ephemeral",
  "persistentVolumeClaim",
  "projected",
  "secret"
])

const violation = (isViolated: boolean, sentence: string): ReadonlyArray<string> => (isViolated ? [sentence] : [])

const findContainerViolations = (container: JsonObject, pod: JsonObject): ReadonlyArray<string> => {
  const name = textAt(container, "name")
  const own = objectAt(container, "securityContext")
  const shared = objectAt(pod, "securityContext")
  const either = (...path: ReadonlyArray<string>) => at(own, ...path) ?? at(shared, ...path)
  return [
    violation(own["privileged"] === true, `privileged (container "${name}")`),
    violation(own["allowPrivilegeEscalation"] !== false, `allowPrivilegeEscalation != false (container "${name}")`),
    violation(
      !textsAt(own, "capabilities", "drop").includes("ALL") ||
        textsAt(own, "capabilities", "add").some((capability) => capability !== "NET_BIND_SERVICE"),
      `unrestricted capabilities (container "${name}" must set securityContext.capabilities.drop=["ALL"])`
    ),
    violation(either("runAsNonRoot") !== true, `runAsNonRoot != true (container "${name}")`),
    violation(either("runAsUser") === 0, `runAsUser=0 (container "${name}")`),
    violation(
      !["RuntimeDefault", "Localhost"].includes(String(either("seccompProfile", "type"))),
      `seccompProfile (container "${name}" must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost")`
    ),
    violation(
      objectsAt(container, "ports").some((port) => typeof port["hostPort"] === "number" && port["hostPort"] !== 0),
      `hostPort (container "${name}")`
    )
  ].flat()
}

export const findRestrictedViolations = (pod: JsonObject): ReadonlyArray<string> => [
  ...["hostNetwork", "hostPID", "hostIPC"].flatMap((name) => violation(pod[name] === true, `${name}=true`)),
  ...objectsAt(pod, "volumes").flatMap((volume) =>
    Object.keys(volume)
      .filter((kind) => kind !== "name" && isObject(volume[kind]) && !volumeKinds.has(kind))
      .map((kind) => `restricted volume types (volume "${textAt(volume, "name")}" uses ${kind})`)
  ),
  ...[...objectsAt(pod, "initContainers"), ...objectsAt(pod, "containers")].flatMap((container) =>
    findContainerViolations(container, pod)
  )
]
