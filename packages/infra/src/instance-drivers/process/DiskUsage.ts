import { type Effect, Predicate } from "effect"
import { lstat, opendir } from "node:fs/promises"
import { join } from "node:path"
import { type FileOperationFailed, tryFileOperation } from "./HostFiles.ts"

const mib = 1024 * 1024
/** The cost of an empty file: its directory entry and inode. */
const entryBytes = 4096

const isGone = (cause: unknown): boolean =>
  Predicate.hasProperty(cause, "code") && (cause.code === "ENOENT" || cause.code === "ENOTDIR")

/** Bytes of a directory on disk, without following links. Counting stops above `enough`, which bounds the work. */
export const measureDiskUsage = (directory: string, enough: number): Effect.Effect<number, FileOperationFailed> =>
  tryFileOperation(`measuring ${directory}`, async () => {
    let total = 0
    const pending = [directory]
    for (let at = pending.pop(); at !== undefined && total <= enough; at = pending.pop())
      try {
        for await (const entry of await opendir(at)) {
          const path = join(at, entry.name)
          if (entry.isDirectory()) pending.push(path)
          const { blocks } = await lstat(path).catch((cause: unknown) => {
            if (isGone(cause)) return { blocks: 0 }
            throw cause
          })
          total += Math.max(entryBytes, blocks * 512)
          if (total > enough) break
        }
      } catch (cause) {
        if (!isGone(cause)) throw cause
      }
    return total
  })

/**
 * The bytes at which an instance is ended. The runtime's tools enforce the limit itself, so well above it other code writes.
 * An instance that started above the limit may run, so that its owner can delete files, but not grow.
 */
export const computeDiskTolerance = (diskMb: number, atStart: number): number =>
  Math.max(Math.floor(diskMb * mib * 1.1), atStart + mib)
