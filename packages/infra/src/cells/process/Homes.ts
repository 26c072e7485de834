import { Data, Effect, Option } from "effect"
import { chmod, chown, lchown, lstat, mkdir, readdir } from "node:fs/promises"
import { join } from "node:path"
import type { CellPlace } from "./CellPlace.ts"
import { allocateUid, isIn, type UidRange } from "./CellUid.ts"
import { type FileTrouble, io } from "./HostFiles.ts"

/** Every account of the range has an owner. */
export class NoAccountIsLeft extends Data.TaggedError("NoAccountIsLeft")<object> {
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
const taken = (root: string): Effect.Effect<ReadonlySet<number>, FileTrouble> =>
  io("reading the accounts of the cells", async () => {
    const owners = await readdir(root)
    const uids = await Promise.all(owners.map((owner) => ownerOf(join(root, owner, "home"))))
    return new Set(uids.filter((uid) => uid !== undefined))
  })

/** Gives a directory and all in it to an account; links themselves, never what they point to. */
const giveTo = async (path: string, uid: number): Promise<void> => {
  for (const entry of await readdir(path, { withFileTypes: true }))
    if (entry.isDirectory()) await giveTo(join(path, entry.name), uid)
    else await lchown(join(path, entry.name), uid, uid)
  await chown(path, uid, uid)
}

export interface Homes {
  /** Makes the owner's directories and answers with the account the cell runs under, where it has its own. */
  readonly prepare: (
    owner: string,
    place: CellPlace
  ) => Effect.Effect<Option.Option<number>, FileTrouble | NoAccountIsLeft>
}

export const make = (root: string, uids: Option.Option<UidRange>): Effect.Effect<Homes> =>
  Effect.map(Effect.makeSemaphore(1), (lock) => {
    const directories = ({ directory, home }: CellPlace, mode: number) =>
      io(`making ${home}`, async () => {
        await mkdir(directory, { recursive: true, mode })
        await chmod(directory, mode)
        await mkdir(home, { recursive: true, mode: 0o700 })
        // Only while it is ours: it is the cell's to change afterwards.
        if ((await ownerOf(home)) === process.getuid?.()) await chmod(home, 0o700)
      })

    const settle = (owner: string, place: CellPlace, range: UidRange) =>
      Effect.gen(function* () {
        yield* directories(place, 0o711)
        const now = yield* io(`looking at ${place.home}`, () => ownerOf(place.home))
        if (now !== undefined && isIn(range, now)) return now
        const uid = yield* Effect.mapError(allocateUid(range, owner, yield* taken(root)), () => new NoAccountIsLeft())
        yield* io(`giving ${place.home} to its cell`, () => giveTo(place.home, uid))
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
