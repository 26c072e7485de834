import type { LogLevel, RuntimeLogEntry } from "@berth/domain/instances/RuntimeLog"
import { DateTime, Effect, Option } from "effect"
import { randomUUID } from "node:crypto"
import { constants } from "node:fs"
import { appendFile, type FileHandle, open, rename, stat, truncate } from "node:fs/promises"
import { formatHostLine, parseLogEntries } from "./LogLines.ts"
import { type FileOperationFailed, tryFileOperation, readRegularFile } from "./HostFiles.ts"

/** The files of an owner's log on the host. */
export interface InstanceLogFiles {
  readonly log: string
  readonly rotatedLog: string
}

/** Maximum bytes of the log and of the rotated log, each. */
export const maximumLogBytes = 2 * 1024 * 1024
/** Bytes at the end of the log to search for the reason of an exit. */
const tailBytes = 16 * 1024

const appending = constants.O_WRONLY | constants.O_CREAT | constants.O_APPEND | constants.O_NOFOLLOW

export const readFileSize = (path: string): Effect.Effect<number, FileOperationFailed> =>
  tryFileOperation(`reading the size of ${path}`, () =>
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
 * Rotates a log above the limit. The file is truncated instead of renamed, since the instance keeps its descriptor in
 * append mode.
 */
export const rotate = (directory: InstanceLogFiles): Effect.Effect<void, FileOperationFailed> =>
  Effect.flatMap(readFileSize(directory.log), (size) =>
    size <= maximumLogBytes
      ? Effect.void
      : tryFileOperation(`rotating ${directory.log}`, async () => {
          const unfinished = `${directory.rotatedLog}.${randomUUID()}`
          const file = await open(unfinished, "wx", 0o600)
          try {
            await file.write(await bytes(directory.log, size - maximumLogBytes, maximumLogBytes))
            // Concurrently appended lines, limited in case of a flood.
            await file.write(await bytes(directory.log, size, maximumLogBytes))
          } finally {
            await file.close()
          }
          await rename(unfinished, directory.rotatedLog)
          await truncate(directory.log, 0)
        })
  )

/** Opens the log for a new process; `from` is its previous length. */
export const openForProcess = Effect.fnUntraced(function* (
  directory: InstanceLogFiles
): Effect.fn.Return<{ file: FileHandle; from: number }, FileOperationFailed> {
  yield* rotate(directory)
  const file = yield* tryFileOperation(`opening ${directory.log}`, () => open(directory.log, appending, 0o600))
  return { file, from: yield* readFileSize(directory.log) }
})

/** Appends text that ends with a newline. Best-effort, since a full disk must not block the handling of an exit. */
export const append = (files: InstanceLogFiles, text: string): Effect.Effect<void> =>
  // An exited instance is no longer monitored, and its log may exceed the limit.
  Effect.zipRight(
    rotate(files),
    tryFileOperation(`writing to ${files.log}`, () =>
      // The leading newline ends an incomplete line of the process.
      appendFile(files.log, `\n${text}`, { flag: appending, mode: 0o600 })
    )
  ).pipe(
    Effect.catchAll(({ message }) =>
      Effect.logWarning("Log of an instance not written").pipe(Effect.annotateLogs({ reason: message }))
    )
  )

export const appendHostLine = (files: InstanceLogFiles, level: LogLevel, message: string): Effect.Effect<void> =>
  Effect.flatMap(DateTime.now, (now) => append(files, formatHostLine(level, now, message)))

/** Reads the end of the log starting at `from`; empty if unreadable. */
export const readTail = (directory: InstanceLogFiles, from = 0): Effect.Effect<string> =>
  Effect.flatMap(readFileSize(directory.log), (size) =>
    readRegularFile(directory.log, tailBytes, Math.max(from > size ? 0 : from, size - tailBytes))
  ).pipe(
    Effect.map(Option.getOrElse(() => "")),
    Effect.catchAll(({ message }) =>
      Effect.as(Effect.logWarning("Log of an instance not read").pipe(Effect.annotateLogs({ reason: message })), "")
    )
  )

/** Reads the end of a file, at most twice the limit of a log. */
const readRecent = (path: string): Effect.Effect<string, FileOperationFailed> =>
  Effect.flatMap(readFileSize(path), (size) =>
    Effect.map(
      readRegularFile(path, 2 * maximumLogBytes, Math.max(0, size - 2 * maximumLogBytes)),
      Option.getOrElse(() => "")
    )
  )

/** Reads the entries of both files in written order. */
export const readEntries = Effect.fnUntraced(function* ({
  log,
  rotatedLog
}: InstanceLogFiles): Effect.fn.Return<ReadonlyArray<RuntimeLogEntry>, FileOperationFailed> {
  const before = yield* readRecent(rotatedLog)
  return parseLogEntries(before + (yield* readRecent(log)))
})
