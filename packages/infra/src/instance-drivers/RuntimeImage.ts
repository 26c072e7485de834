import { RuntimeEnvironment } from "@berth/api/runtime/RuntimeContract"
import type { InstanceSpec } from "@berth/domain/instances/InstanceDriver"
import { Data } from "effect"
import { allocatorEnvironment, makeNodeFlags, type PermissionFlags } from "./NodeFlags.ts"

/** Account of every instance: unused on the host, and without rights there. */
export const instanceUid = 65_534
export const runtimePort = 8080
export const volumePath = "/data"
export const homeName = "home"
/** The instance's only writable directory on disk. */
export const instanceHome = `${volumePath}/${homeName}`
const bundle = "/runtime/runtime.mjs"

/** Environment of an instance in a container, without its token. */
export const makeContainerEnvironment = ({
  backendUrl,
  diskMb,
  memoryMb
}: Pick<InstanceSpec, "backendUrl" | "diskMb" | "memoryMb">): Readonly<Record<string, string>> => ({
  [RuntimeEnvironment.backendUrl]: backendUrl,
  [RuntimeEnvironment.directory]: instanceHome,
  [RuntimeEnvironment.port]: String(runtimePort),
  [RuntimeEnvironment.memoryMb]: String(memoryMb),
  [RuntimeEnvironment.diskMb]: String(diskMb),
  ...allocatorEnvironment
})

/** Arguments of `node` in a container. */
export const makeContainerArguments = (memoryMb: number, permission: PermissionFlags): ReadonlyArray<string> => [
  ...makeNodeFlags({ permission, memoryMb, bundle, home: instanceHome }),
  bundle
]

/**
 * Deletes the entries of a directory except the kept ones. The instance controls the entries: links are removed, not
 * followed.
 */
const removalScript = `
const { lstatSync, readdirSync, rmSync } = require("node:fs")
const [, directory, ...kept] = process.argv
const entries = (path) => { try { return lstatSync(path).isDirectory() ? readdirSync(path) : [] } catch (e) { if (e.code === "ENOENT") return []; throw e } }
for (const name of entries(directory)) {
  const path = directory + "/" + name
  if (!kept.includes(name) || !lstatSync(path).isDirectory()) rmSync(path, { recursive: true, force: true })
}`

/** Makes the command of a task that deletes the entries of a directory except the kept ones. */
export const makeRemovalCommand = (directory: string, kept: ReadonlyArray<string>): ReadonlyArray<string> => [
  "node",
  "-e",
  removalScript,
  directory,
  ...kept
]

export class InstanceTaskFailed extends Data.TaggedError("InstanceTaskFailed")<{ readonly reason: string }> {
  override readonly message = `The files of the instance cannot be removed: ${this.reason}`
}
