import { runtimeAddressFile, runtimeAgentsDirectory } from "@berth/api/runtime/RuntimeContract"
import { Option } from "effect"
import { join } from "node:path"

/** An owner's directory on the host. */
export interface InstanceDirectory {
  /** Owned by the driver: record and logs, out of the instance's reach. */
  readonly path: string
  /** Owned by the instance, its only writable directory. */
  readonly home: string
  readonly address: string
  /** The files of the agents. */
  readonly agents: string
  readonly record: string
  readonly log: string
  readonly rotatedLog: string
  /** The runtime version that the owner's instance runs. */
  readonly bundlePin: string
}

/** None for an id that cannot be the name of a directory. */
export const resolveInstanceDirectory = (root: string, owner: string): Option.Option<InstanceDirectory> => {
  if (!/^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$/.test(owner)) return Option.none()
  const path = join(root, owner)
  const home = join(path, "home")
  return Option.some({
    path,
    home,
    address: join(home, runtimeAddressFile),
    agents: join(home, runtimeAgentsDirectory),
    record: join(path, "record.json"),
    log: join(path, "instance.log"),
    rotatedLog: join(path, "instance.log.1"),
    bundlePin: join(path, "runtime.json")
  })
}
