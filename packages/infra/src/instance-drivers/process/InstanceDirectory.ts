import { runtimeAddressFile, runtimeAgentsDirectory } from "@berth/api/runtime/RuntimeContract"
import { Option } from "effect"
import { join } from "node:path"

/** An owner's part of the file system. */
export interface InstanceDirectory {
  /** The driver's: record and logs, out of the cell's reach. */
  readonly path: string
  /** The cell's own directory, the only one it can use. */
  readonly home: string
  readonly address: string
  /** What belongs to the cell's agents. */
  readonly agents: string
  readonly record: string
  readonly log: string
  readonly rotatedLog: string
  /** Which version of the runtime the owner's cells run. */
  readonly bundlePin: string
}

/** None for an id that cannot be the name of a directory. */
export const resolveInstanceDirectory = (root: string, owner: string): Option.Option<InstanceDirectory> => {
  if (!/^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$/.test(owner)) return Option.none()
  const directory = join(root, owner)
  const home = join(directory, "home")
  return Option.some({
    path: directory,
    home,
    address: join(home, runtimeAddressFile),
    agents: join(home, runtimeAgentsDirectory),
    record: join(directory, "record.json"),
    log: join(directory, "cell.log"),
    rotatedLog: join(directory, "cell.log.1"),
    bundlePin: join(directory, "runtime.json")
  })
}
