import { type CellLogPage, type CellLogQuery, type LogLevel, pageOfLog } from "@berth/domain/instances/CellLog"
import { DateTime, Effect, Option } from "effect"
import { randomUUID } from "node:crypto"
import { constants } from "node:fs"
import { appendFile, type FileHandle, open, rename, stat, truncate } from "node:fs/promises"
import { hostLine, logEntries } from "../LogLines.ts"
import type { CellPlace } from "./CellPlace.ts"
import { type FileTrouble, io, readPlain } from "./HostFiles.ts"

/** A cell's log and the one before it are each kept up to this length, in bytes. */
export const logLimit = 2 * 1024 * 1024
/** How much of a log's end is looked through for the reason of an exit, in bytes. */
const tail = 16 * 1024

const appending = constants.O_WRONLY | constants.O_CREAT | constants.O_APPEND | constants.O_NOFOLLOW

export const sizeOf = (path: string): Effect.Effect<number, FileTrouble> =>
  io(`looking at ${path}`, () =>
    stat(path).then(
      ({ size }) => size,
      () => 0
    )
  )

const bytes = async (path: string, from: number, length: number): Promise<Buffer> => {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW)
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, from)
    return buffer.subarray(0, bytesRead)
  } finally {
    await file.close()
  }
}

/**
 * Starts the log over when it has grown too long; its end is kept beside it. It is emptied rather than renamed, since the cell
 * goes on writing to the file that it was given; it appends, so it goes on at the new end.
 */
export const rotate = (place: CellPlace): Effect.Effect<void, FileTrouble> =>
  Effect.flatMap(sizeOf(place.log), (size) =>
    size <= logLimit
      ? Effect.void
      : io(`rotating ${place.log}`, async () => {
          const unfinished = `${place.oldLog}.${randomUUID()}`
          const file = await open(unfinished, "wx", 0o600)
          try {
            await file.write(await bytes(place.log, size - logLimit, logLimit))
            // What came meanwhile; a flood is not waited for.
            await file.write(await bytes(place.log, size, logLimit))
          } finally {
            await file.close()
          }
          await rename(unfinished, place.oldLog)
          await truncate(place.log, 0)
        })
  )

/** The log opened for a new cell, with its length before that cell's first word. */
export const openForCell = (place: CellPlace): Effect.Effect<{ file: FileHandle; from: number }, FileTrouble> =>
  Effect.gen(function* () {
    yield* rotate(place)
    const file = yield* io(`opening ${place.log}`, () => open(place.log, appending, 0o600))
    return { file, from: yield* sizeOf(place.log) }
  })

/** Writes down what the host has to say about the cell. */
export const note = (place: CellPlace, level: LogLevel, message: string): Effect.Effect<void, FileTrouble> =>
  Effect.gen(function* () {
    // A cell that is gone may have left more than a log should be long, and nobody else looks after it any more.
    yield* rotate(place)
    // One that died in the middle of a line must not swallow this one.
    const line = `\n${hostLine(level, yield* DateTime.now, message)}`
    yield* io(`writing to ${place.log}`, () => appendFile(place.log, line, { flag: appending, mode: 0o600 }))
  })

/** The end of the log, but nothing from before `from`. */
export const endOf = (place: CellPlace, from = 0): Effect.Effect<string, FileTrouble> =>
  Effect.flatMap(sizeOf(place.log), (size) =>
    Effect.map(
      readPlain(place.log, tail, Math.max(from > size ? 0 : from, size - tail)),
      Option.getOrElse(() => "")
    )
  )

/** The end of a file, as long as a log may be. A flood that has not been cut back yet is read no further. */
const lately = (path: string): Effect.Effect<string, FileTrouble> =>
  Effect.flatMap(sizeOf(path), (size) =>
    Effect.map(
      readPlain(path, 2 * logLimit, Math.max(0, size - 2 * logLimit)),
      Option.getOrElse(() => "")
    )
  )

/** What a query asks for of all that is kept. */
export const page = ({ log, oldLog }: CellPlace, query: CellLogQuery): Effect.Effect<CellLogPage, FileTrouble> =>
  Effect.gen(function* () {
    const before = yield* lately(oldLog)
    return pageOfLog(logEntries(before + (yield* lately(log))), query)
  })
