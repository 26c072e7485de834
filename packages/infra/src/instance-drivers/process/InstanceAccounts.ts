import { Data, Effect, Option } from "effect"
import { chmod, chown, lchown, lstat, mkdir, readdir } from "node:fs/promises"
import { join } from "node:path"
import type { InstanceDirectory } from "./InstanceDirectory.ts"
import { allocateUid, isInUidRange, type UidRange } from "./UidAllocation.ts"
import { type FileOperationFailed, tryFileOperation } from "./HostFiles.ts"

/** Every account of the range has an owner. */
export class InstanceAccountsExhausted extends Data.TaggedError("InstanceAccountsExhausted")<object> {
  override get message() {
    return "every account for cells is taken"
  }
}

const ownerOf = (path: string): Promise<number | undefined> =>
  lstat(path).then(
    ({ uid }) => uid,
    () => undefined
  )

/** The accounts given away: each cell's directory belongs to its own, so the directories are the register. */
const readTakenUids = (root: string): Effect.Effect<ReadonlySet<number>, FileOperationFailed> =>
  tryFileOperation("reading the accounts of the cells", async () => {
    const owners = await readdir(root)
    const uids = await Promise.all(owners.map((owner) => ownerOf(join(root, owner, "home"))))
    return new Set(uids.filter((uid) => uid !== undefined))
  })

/** Gives a directory and all in it to an account; links themselves, never what they point to. */
const changeOwner = async (path: string, uid: number): Promise<void> => {
  for (const entry of await readdir(path, { withFileTypes: true }))
    if (entry.isDirectory()) await changeOwner(join(path, entry.name), uid)
    else await lchown(join(path, entry.name), uid, uid)
  await chown(path, uid, uid)
}

export interface InstanceAccounts {
  /** Makes the owner's directories and answers with the account the cell runs under, where it has its own. */
  readonly prepare: (
    owner: string,
    place: InstanceDirectory
  ) => Effect.Effect<Option.Option<number>, FileOperationFailed | InstanceAccountsExhausted>
}

export const make = (root: string, uids: Option.Option<UidRange>): Effect.Effect<InstanceAccounts> =>
  Effect.map(Effect.makeSemaphore(1), (lock) => {
    const directories = ({ path, home }: InstanceDirectory, mode: number) =>
      tryFileOperation(`making ${home}`, async () => {
        await mkdir(path, { recursive: true, mode })
        await chmod(path, mode)
        await mkdir(home, { recursive: true, mode: 0o700 })
        // Only while it is ours: it is the cell's to change afterwards.
        if ((await ownerOf(home)) === process.getuid?.()) await chmod(home, 0o700)
      })

    const settle = (owner: string, place: InstanceDirectory, range: UidRange) =>
      Effect.gen(function* () {
        yield* directories(place, 0o711)
        const now = yield* tryFileOperation(`looking at ${place.home}`, () => ownerOf(place.home))
        if (now !== undefined && isInUidRange(range, now)) return now
        const uid = yield* Effect.mapError(
          allocateUid(range, owner, yield* readTakenUids(root)),
          () => new InstanceAccountsExhausted()
        )
        yield* tryFileOperation(`giving ${place.home} to its cell`, () => changeOwner(place.home, uid))
        return uid
      })

    return {
      prepare: (owner, place) =>
        Option.match(uids, {
          onNone: () => Effect.as(directories(place, 0o700), Option.none()),
          // One at a time, so that two new owners do not get the same account.
          onSome: (range) => lock.withPermits(1)(Effect.asSome(settle(owner, place, range)))
        })
    }
  })
