import {
  type RuntimeLogPage,
  type RuntimeLogQuery,
  type LogLevel,
  selectLogPage
} from "@berth/domain/instances/RuntimeLog"
import { DateTime, Effect, Option } from "effect"
import { randomUUID } from "node:crypto"
import { constants } from "node:fs"
import { appendFile, type FileHandle, open, rename, stat, truncate } from "node:fs/promises"
import { formatHostLine, parseLogEntries } from "../LogLines.ts"
import type { InstanceDirectory } from "./InstanceDirectory.ts"
import { type FileOperationFailed, tryFileOperation, readRegularFile } from "./HostFiles.ts"

/** A cell's log and the one before it are each kept up to this length, in bytes. */
export const maximumLogBytes = 2 * 1024 * 1024
/** How much of a log's end is looked through for the reason of an exit, in bytes. */
const tailBytes = 16 * 1024

const appending = constants.O_WRONLY | constants.O_CREAT | constants.O_APPEND | constants.O_NOFOLLOW

export const readFileSize = (path: string): Effect.Effect<number, FileOperationFailed> =>
  tryFileOperation(`looking at ${path}`, () =>
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
export const rotate = (place: InstanceDirectory): Effect.Effect<void, FileOperationFailed> =>
  Effect.flatMap(readFileSize(place.log), (size) =>
    size <= maximumLogBytes
      ? Effect.void
      : tryFileOperation(`rotating ${place.log}`, async () => {
          const unfinished = `${place.rotatedLog}.${randomUUID()}`
          const file = await open(unfinished, "wx", 0o600)
          try {
            await file.write(await bytes(place.log, size - maximumLogBytes, maximumLogBytes))
            // What came meanwhile; a flood is not waited for.
            await file.write(await bytes(place.log, size, maximumLogBytes))
          } finally {
            await file.close()
          }
          await rename(unfinished, place.rotatedLog)
          await truncate(place.log, 0)
        })
  )

/** The log opened for a new cell, with its length before that cell's first word. */
export const openForProcess = (
  place: InstanceDirectory
): Effect.Effect<{ file: FileHandle; from: number }, FileOperationFailed> =>
  Effect.gen(function* () {
    yield* rotate(place)
    const file = yield* tryFileOperation(`opening ${place.log}`, () => open(place.log, appending, 0o600))
    return { file, from: yield* readFileSize(place.log) }
  })

/** Writes down what the host has to say about the cell. */
export const appendHostLine = (
  place: InstanceDirectory,
  level: LogLevel,
  message: string
): Effect.Effect<void, FileOperationFailed> =>
  Effect.gen(function* () {
    // A cell that is gone may have left more than a log should be long, and nobody else looks after it any more.
    yield* rotate(place)
    // One that died in the middle of a line must not swallow this one.
    const line = `\n${formatHostLine(level, yield* DateTime.now, message)}`
    yield* tryFileOperation(`writing to ${place.log}`, () =>
      appendFile(place.log, line, { flag: appending, mode: 0o600 })
    )
  })

/** The end of the log, but nothing from before `from`. */
export const readTail = (place: InstanceDirectory, from = 0): Effect.Effect<string, FileOperationFailed> =>
  Effect.flatMap(readFileSize(place.log), (size) =>
    Effect.map(
      readRegularFile(place.log, tailBytes, Math.max(from > size ? 0 : from, size - tailBytes)),
      Option.getOrElse(() => "")
    )
  )

/** The end of a file, as long as a log may be. A flood that has not been cut back yet is read no further. */
const readRecent = (path: string): Effect.Effect<string, FileOperationFailed> =>
  Effect.flatMap(readFileSize(path), (size) =>
    Effect.map(
      readRegularFile(path, 2 * maximumLogBytes, Math.max(0, size - 2 * maximumLogBytes)),
      Option.getOrElse(() => "")
    )
  )

/** What a query asks for of all that is kept. */
export const readLogPage = (
  { log, rotatedLog }: InstanceDirectory,
  query: RuntimeLogQuery
): Effect.Effect<RuntimeLogPage, FileOperationFailed> =>
  Effect.gen(function* () {
    const before = yield* readRecent(rotatedLog)
    return selectLogPage(parseLogEntries(before + (yield* readRecent(log))), query)
  })
