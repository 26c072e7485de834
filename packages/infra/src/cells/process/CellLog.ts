import { Effect, Option } from "effect"
import { constants } from "node:fs"
import { copyFile, type FileHandle, open, stat, truncate } from "node:fs/promises"
import type { CellPlace } from "./CellPlace.ts"
import { type FileTrouble, io, readPlain } from "./HostFiles.ts"

/** A cell's log and the one before it are each about this long at most, in bytes. */
const limit = 4 * 1024 * 1024
/** How much of a log's end is looked through for the reason of an exit, in bytes. */
const tail = 16 * 1024

const sizeOf = (path: string): Effect.Effect<number, FileTrouble> =>
  io(`looking at ${path}`, () =>
    stat(path).then(
      ({ size }) => size,
      () => 0
    )
  )

/**
 * Starts the log over when it has grown too long. It is copied and emptied rather than renamed, since the cell goes on
 * writing to the file that it was given; it appends, so it goes on at the new end.
 */
export const rotate = ({ log, oldLog }: CellPlace): Effect.Effect<void, FileTrouble> =>
  Effect.flatMap(sizeOf(log), (size) =>
    size <= limit
      ? Effect.void
      : io(`rotating ${log}`, async () => {
          await copyFile(log, oldLog)
          await truncate(log, 0)
        })
  )

/** The log opened for a new cell, with its length before that cell's first word. */
export const openForCell = (place: CellPlace): Effect.Effect<{ file: FileHandle; from: number }, FileTrouble> =>
  Effect.gen(function* () {
    yield* rotate(place)
    const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_APPEND | constants.O_NOFOLLOW
    const file = yield* io(`opening ${place.log}`, () => open(place.log, flags, 0o600))
    return { file, from: yield* sizeOf(place.log) }
  })

/** The end of the log, but nothing from before `from`. */
export const endOf = ({ log }: CellPlace, from = 0): Effect.Effect<string, FileTrouble> =>
  Effect.flatMap(sizeOf(log), (size) =>
    Effect.map(
      readPlain(log, tail, Math.max(from > size ? 0 : from, size - tail)),
      Option.getOrElse(() => "")
    )
  )
