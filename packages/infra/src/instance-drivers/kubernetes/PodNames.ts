import type { UserId } from "@berth/domain/shared/UserId"
import { Option } from "effect"
import { createHash } from "node:crypto"
import { join } from "node:path"
import type { InstanceNames } from "../PlatformDriver.ts"

/** Name of an owner's objects in the namespace, and the files of its log on the backend's disk. */
export interface PodNames extends InstanceNames {
  /** Name of every object except the pods. */
  readonly name: string
  readonly pod: string
  /** Pod of a short task on the instance's files. */
  readonly task: string
}

export const ownerLabel = "berth.owner"
const componentLabel = "app.kubernetes.io/component"
const commonLabels = { "app.kubernetes.io/managed-by": "berth", "app.kubernetes.io/part-of": "berth" }

/** Labels of the backend's pods; only these may communicate with instances. */
export const backendLabels = { "app.kubernetes.io/part-of": "berth", [componentLabel]: "backend" }
export const instanceSelector = Object.entries({ ...commonLabels, [componentLabel]: "instance" })
  .map(([name, value]) => `${name}=${value}`)
  .join(",")

export const makeLabels = ({ name, owner }: PodNames, component: "instance" | "task") => ({
  ...commonLabels,
  "app.kubernetes.io/name": "berth-runtime",
  "app.kubernetes.io/instance": name,
  [componentLabel]: component,
  [ownerLabel]: owner
})

/** Labels by which a StatefulSet and a Service select the instance's pod. */
export const makePodSelector = ({ name }: PodNames) => ({
  "app.kubernetes.io/instance": name,
  [componentLabel]: "instance"
})

/** Readable characters of the owner's id in names. */
const readableLength = 24

/**
 * None for an id that is not a valid label value. The hash separates ids that differ in case or punctuation. At most 47
 * characters, since a StatefulSet's name becomes part of labels of 63.
 */
export const makePodNames = (owner: UserId, directory: string): Option.Option<PodNames> => {
  if (!/^[A-Za-z0-9]([A-Za-z0-9_-]{0,61}[A-Za-z0-9])?$/.test(owner)) return Option.none()
  const readable = owner.toLowerCase().replaceAll("_", "-").slice(0, readableLength).replace(/-+$/, "")
  const name = `berth-${readable}-${createHash("sha256").update(owner).digest("hex").slice(0, 16)}`
  const path = join(directory, owner)
  return Option.some({
    owner,
    name,
    pod: `${name}-0`,
    task: `${name}-task`,
    directory: path,
    log: join(path, "instance.log"),
    rotatedLog: join(path, "instance.log.1")
  })
}
