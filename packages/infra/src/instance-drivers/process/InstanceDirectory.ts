import { runtimeAddressFile, runtimeAgentsDirectory } from "@berth/api/runtime/RuntimeContract"
import { UserId } from "@berth/domain/shared/UserId"
import { Option } from "effect"
import { createHash } from "node:crypto"
import { join } from "node:path"
import { fitsSocket } from "../../net/SocketPath.ts"
import { findTemporaryDirectory } from "../HostFiles.ts"
import type { InstanceNames } from "../PlatformDriver.ts"

const digest = (text: string, length: number) => createHash("sha256").update(text).digest("hex").slice(0, length)

const ownerDigits = 16
const socketName = "s"

/**
 * Returns the directory of sockets for the instances below `root`. It is in the temporary directory, since paths of
 * data directories can exceed the limit of sockets.
 */
export const resolveSocketRoot = (root: string): string => {
  const name = `berth-${digest(root, 16)}`
  const fits = (parent: string) => fitsSocket(join(parent, name, "0".repeat(ownerDigits), socketName))
  return join(
    Option.getOrElse(Option.liftPredicate(findTemporaryDirectory(), fits), () => "/tmp"),
    name
  )
}

/** An owner's directory on the host. It is owned by the driver, with record and logs, inaccessible to the instance. */
export interface InstanceDirectory extends InstanceNames {
  /** Owned by the instance; its only writable directory. */
  readonly home: string
  readonly address: string
  /** Owned by the instance; contains only its socket. */
  readonly sockets: string
  readonly socket: string
  /** Files of the agents. */
  readonly agents: string
  readonly record: string
  /** Pinned runtime version of the owner's instance. */
  readonly bundlePin: string
}

/** None for an id that is not a valid directory name. */
export const resolveInstanceDirectory = (root: string, owner: string): Option.Option<InstanceDirectory> => {
  if (!/^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$/.test(owner)) return Option.none()
  const directory = join(root, owner)
  const home = join(directory, "home")
  const sockets = join(resolveSocketRoot(root), digest(owner, ownerDigits))
  return Option.some({
    owner: UserId.make(owner),
    directory,
    home,
    address: join(home, runtimeAddressFile),
    sockets,
    socket: join(sockets, socketName),
    agents: join(home, runtimeAgentsDirectory),
    record: join(directory, "record.json"),
    log: join(directory, "instance.log"),
    rotatedLog: join(directory, "instance.log.1"),
    bundlePin: join(directory, "runtime.json")
  })
}
