import { type Effect, Predicate } from "effect"
import { lstat, opendir } from "node:fs/promises"
import { join } from "node:path"
import { type FileOperationFailed, tryFileOperation } from "./HostFiles.ts"

const mib = 1024 * 1024
/** Even an empty file costs something: the directory's entry and the inode. */
const entryBytes = 4096

const isGone = (cause: unknown): boolean =>
  Predicate.hasProperty(cause, "code") && (cause.code === "ENOENT" || cause.code === "ENOTDIR")

/**
 * Bytes that a directory takes on the disk; links are not followed. It stops counting at `enough`, which bounds its own cost
 * together with what every entry counts at least.
 */
export const measureDiskUsage = (directory: string, enough: number): Effect.Effect<number, FileOperationFailed> =>
  tryFileOperation(`measuring ${directory}`, async () => {
    let total = 0
    const left = [directory]
    for (let at = left.pop(); at !== undefined && total <= enough; at = left.pop())
      try {
        for await (const entry of await opendir(at)) {
          const path = join(at, entry.name)
          if (entry.isDirectory()) left.push(path)
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
 * Up to how many bytes a cell is left alone. Its own tools refuse to write over the limit, so well over it something else
 * writes. A cell that began over the limit may run on, so that its owner can tidy up, but not grow.
 */
export const computeDiskTolerance = (diskMb: number, atStart: number): number =>
  Math.max(Math.floor(diskMb * mib * 1.1), atStart + mib)
