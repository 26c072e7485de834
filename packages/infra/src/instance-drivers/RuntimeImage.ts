import { RuntimeEnvironment } from "@berth/api/runtime/RuntimeContract"
import type { InstanceSpec } from "@berth/domain/instances/InstanceDriver"
import { Data } from "effect"
import { allocatorEnvironment, makeNodeFlags, type PermissionFlags } from "./NodeFlags.ts"

/** The account of every instance: no account of the host, and without rights there. */
export const instanceUid = 65_534
/** The port of the runtime in its container. */
export const runtimePort = 8080
/** The instance's volume. */
export const volumePath = "/data"
export const homeName = "home"
/** The instance's only writable directory on disk. */
export const instanceHome = `${volumePath}/${homeName}`
const bundle = "/runtime/runtime.mjs"

/** The environment of an instance in a container, but for its token. */
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

/** The arguments of `node` in a container. */
export const makeContainerArguments = (memoryMb: number, permission: PermissionFlags): ReadonlyArray<string> => [
  ...makeNodeFlags({ permission, memoryMb, bundle, home: instanceHome }),
  bundle
]

/** Deletes the entries of a directory but the kept ones. The instance controls the entries: links are removed, not followed. */
const removalScript = `
const { lstatSync, readdirSync, rmSync } = require("node:fs")
const [, directory, ...kept] = process.argv
const entries = (path) => { try { return lstatSync(path).isDirectory() ? readdirSync(path) : [] } catch (e) { if (e.code === "ENOENT") return []; throw e } }
for (const name of entries(directory)) {
  const path = directory + "/" + name
  if (!kept.includes(name) || !lstatSync(path).isDirectory()) rmSync(path, { recursive: true, force: true })
}`

/** The command of a task that deletes the entries of a directory but the kept ones. */
export const makeRemovalCommand = (directory: string, kept: ReadonlyArray<string>): ReadonlyArray<string> => [
  "node",
  "-e",
  removalScript,
  directory,
  ...kept
]

/** A task on an instance's files ended with an error. */
export class InstanceTaskFailed extends Data.TaggedError("InstanceTaskFailed")<{ readonly reason: string }> {
  override get message() {
    return `The files of the instance cannot be removed: ${this.reason}`
  }
}
