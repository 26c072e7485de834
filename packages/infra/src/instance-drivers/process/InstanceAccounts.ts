import { Data, Effect, Option } from "effect"
import { chmod, chown, lchown, lstat, mkdir, readdir, rm } from "node:fs/promises"
import { dirname, join } from "node:path"
import type { InstanceDirectory } from "./InstanceDirectory.ts"
import { allocateUid, isInUidRange, type UidRange } from "./UidAllocation.ts"
import { ensureOwnDirectory, type FileOperationFailed, tryFileOperation } from "../HostFiles.ts"

export class InstanceAccountsExhausted extends Data.TaggedError("InstanceAccountsExhausted")<object> {
  override readonly message = "Every account for instances is taken. Set INSTANCE_UIDS to a larger range."
}

const ownerOf = (path: string): Promise<number | undefined> =>
  lstat(path).then(
    ({ uid }) => uid,
    () => undefined
  )

/** Returns the accounts in use. An instance's directory belongs to its account, so the directories are the register. */
const readTakenUids = (root: string): Effect.Effect<ReadonlySet<number>, FileOperationFailed> =>
  tryFileOperation("reading the accounts of the instances", async () => {
    const owners = await readdir(root)
    const uids = await Promise.all(owners.map((owner) => ownerOf(join(root, owner, "home"))))
    return new Set(uids.filter((uid) => uid !== undefined))
  })

/** Changes the owner of a directory tree, without following links. */
const changeOwner = async (path: string, uid: number): Promise<void> => {
  for (const entry of await readdir(path, { withFileTypes: true }))
    if (entry.isDirectory()) await changeOwner(join(path, entry.name), uid)
    else await lchown(join(path, entry.name), uid, uid)
  await chown(path, uid, uid)
}

export interface InstanceAccounts {
  /** Creates the owner's directories and returns the instance's account; none without separate accounts. */
  readonly prepare: (
    owner: string,
    directory: InstanceDirectory
  ) => Effect.Effect<Option.Option<number>, FileOperationFailed | InstanceAccountsExhausted>
}

export const make = (root: string, uids: Option.Option<UidRange>): Effect.Effect<InstanceAccounts> =>
  Effect.map(Effect.makeSemaphore(1), (lock) => {
    const makeDirectories = ({ directory, home }: InstanceDirectory, mode: number) =>
      tryFileOperation(`making ${home}`, async () => {
        await mkdir(directory, { recursive: true, mode })
        await chmod(directory, mode)
        await mkdir(home, { recursive: true, mode: 0o700 })
        // Only while the backend owns it; afterwards the instance may change its mode.
        if ((await ownerOf(home)) === process.getuid?.()) await chmod(home, 0o700)
      })

    const assignAccount = Effect.fnUntraced(function* (owner: string, directory: InstanceDirectory, range: UidRange) {
      yield* makeDirectories(directory, 0o711)
      const current = yield* tryFileOperation(`reading the owner of ${directory.home}`, () => ownerOf(directory.home))
      if (current !== undefined && isInUidRange(range, current)) return current
      const uid = yield* Effect.mapError(
        // The path distinguishes two installations on a host.
        allocateUid(range, join(root, owner), yield* readTakenUids(root)),
        () => new InstanceAccountsExhausted()
      )
      yield* tryFileOperation(`changing the owner of ${directory.home}`, () => changeOwner(directory.home, uid))
      return uid
    })

    /** Creates an empty directory, since an earlier process may have left its socket. */
    const makeSocketDirectory = ({ sockets }: InstanceDirectory, uid: Option.Option<number>) =>
      tryFileOperation(`making ${sockets}`, async () => {
        await ensureOwnDirectory(dirname(sockets))
        await rm(sockets, { recursive: true, force: true })
        await mkdir(sockets, { mode: 0o700 })
        if (Option.isSome(uid)) await chown(sockets, uid.value, uid.value)
      })

    return {
      prepare: (owner, directory) =>
        Option.match(uids, {
          onNone: () => Effect.as(makeDirectories(directory, 0o700), Option.none()),
          // Serialized, so that two new owners receive different accounts.
          onSome: (range) => lock.withPermits(1)(Effect.asSome(assignAccount(owner, directory, range)))
        }).pipe(Effect.tap((uid) => makeSocketDirectory(directory, uid)))
    }
  })
