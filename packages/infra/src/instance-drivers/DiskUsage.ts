import { Effect, Predicate } from "effect"
import { lstat, opendir, readdir, readlink, stat } from "node:fs/promises"
import { join } from "node:path"
import { type FileOperationFailed, tryFileOperation } from "./HostFiles.ts"

const mib = 1024 * 1024
/** Size of an empty file: its directory entry and inode. */
const entryBytes = 4096
/**
 * Maximum files and directories of an instance, which bounds the time of a count; tools of agents allow a thousand per
 * agent.
 */
export const maximumEntries = 200_000

const isGone = (cause: unknown): boolean =>
  Predicate.hasProperty(cause, "code") && (cause.code === "ENOENT" || cause.code === "ENOTDIR")

const sizeOf = (path: string): Promise<number> =>
  lstat(path).then(
    ({ blocks }) => Math.max(entryBytes, blocks * 512),
    (cause: unknown) => {
      if (isGone(cause)) return entryBytes
      throw cause
    }
  )

/** Yields the bytes on disk of each entry of a tree, without following links. */
async function* listSizes(directory: string): AsyncGenerator<number, void, undefined> {
  const pending = [directory]
  for (let at = pending.pop(); at !== undefined; at = pending.pop())
    try {
      for await (const entry of await opendir(at)) {
        const path = join(at, entry.name)
        if (entry.isDirectory()) pending.push(path)
        yield await sizeOf(path)
      }
    } catch (cause) {
      if (!isGone(cause)) throw cause
    }
}

/** An incremental count of a directory tree. */
export interface DiskCount {
  readonly directory: string
  readonly sizes: AsyncGenerator<number, void, undefined>
  bytes: number
  entries: number
}

export const beginDiskCount = (directory: string): DiskCount => ({
  directory,
  sizes: listSizes(directory),
  bytes: 0,
  entries: 0
})

/** Whether a directory exceeds its limits. */
export const isOverLimit = ({ bytes, entries }: Pick<DiskCount, "bytes" | "entries">, tolerance: number): boolean =>
  bytes > tolerance || entries > maximumEntries

/** Counts up to `steps` further entries, or until a limit is exceeded. True at the end of the count. */
export const continueDiskCount = (
  count: DiskCount,
  steps: number,
  tolerance: number
): Effect.Effect<boolean, FileOperationFailed> =>
  tryFileOperation(`measuring ${count.directory}`, async () => {
    for (let step = 0; step < steps; step++) {
      const next = await count.sizes.next()
      if (next.done === true) return true
      count.bytes += next.value
      count.entries += 1
      if (isOverLimit(count, tolerance)) {
        await count.sizes.return()
        return true
      }
    }
    return false
  })

/** Returns the bytes of a directory on disk, without following links. Stops above `enough`, which bounds the work. */
export const measureDiskUsage = (directory: string, enough: number): Effect.Effect<number, FileOperationFailed> =>
  Effect.suspend(() => {
    const count = beginDiskCount(directory)
    return Effect.as(continueDiskCount(count, Number.POSITIVE_INFINITY, enough), count)
  }).pipe(Effect.map(({ bytes }) => bytes))

/** Returns the bytes of deleted files that a process holds open; none on systems without `/proc`. */
export const measureDeletedFiles = (pid: number): Effect.Effect<number> =>
  Effect.promise(async () => {
    const directory = `/proc/${pid}/fd`
    const descriptors = await readdir(directory).catch((): ReadonlyArray<string> => [])
    const sizes = new Map<string, number>()
    for (const descriptor of descriptors) {
      const path = join(directory, descriptor)
      if (!(await readlink(path).catch(() => "")).endsWith(" (deleted)")) continue
      const file = await stat(path).catch(() => undefined)
      if (file?.isFile() === true) sizes.set(`${file.dev}:${file.ino}`, file.blocks * 512)
    }
    return [...sizes.values()].reduce((sum, size) => sum + size, 0)
  })

/**
 * Returns the bytes at which an instance is ended. The runtime's tools enforce the limit, so a much higher usage is
 * caused by other code. An instance that started above the limit may run, so that its owner can delete files, but its
 * usage must not grow.
 */
export const computeDiskTolerance = (diskMb: number, atStart: number): number =>
  Math.max(Math.floor(diskMb * mib * 1.1), atStart + mib)

/** Maximum share of time for counts, since counting a large directory is expensive; the pause is at most 20 seconds. */
const maximumDiskCountShare = 1 / 50
const maximumDiskCountPauseMs = 20_000

export const computeDiskCountPause = (spentMs: number): number =>
  Math.min(spentMs / maximumDiskCountShare, maximumDiskCountPauseMs)
