import { readStartTime, isProcessAlive } from "@berth/infra/process/ProcessIdentity"
import { Data, Effect, Option, type Scope } from "effect"
import { link, readFile, rename, rm, writeFile } from "node:fs/promises"
import * as LockHolder from "./LockHolder.ts"

class DataDirectoryLocked extends Data.TaggedError("DataDirectoryLocked")<{
  readonly directory: string
  readonly pid: number
}> {
  override readonly message = `Another Berth (process ${this.pid}) runs on ${this.directory}. Stop it first, or choose another DATA_DIR, PORT and BACKEND_PORT.`
}

const isMissing = (cause: unknown) => cause instanceof Error && "code" in cause && cause.code === "ENOENT"
const isExisting = (cause: unknown) => cause instanceof Error && "code" in cause && cause.code === "EEXIST"

const readHolder = (file: string) =>
  Effect.promise(async () => {
    try {
      return Option.some(await readFile(file, "utf8"))
    } catch (cause) {
      if (isMissing(cause)) return Option.none<string>()
      throw cause
    }
  }).pipe(Effect.map(Option.flatMap(LockHolder.parseLockHolder)))

const isHeld = (holder: LockHolder.LockHolder) =>
  LockHolder.isLockHeld(holder, { alive: isProcessAlive(holder.pid), startTime: readStartTime(holder.pid) })

/** Writes a temporary file and links it, so that a lock file always names its holder. */
const tryTake = (file: string) =>
  Effect.promise(async () => {
    const draft = `${file}.${process.pid}`
    await writeFile(draft, LockHolder.formatLockHolder({ pid: process.pid, startTime: readStartTime(process.pid) }))
    try {
      await link(draft, file)
      return true
    } catch (cause) {
      if (isExisting(cause)) return false
      throw cause
    } finally {
      await rm(draft, { force: true })
    }
  })

/** Several processes may find the same stale lock, so a lock taken concurrently is restored. */
const breakStale = Effect.fnUntraced(function* (file: string) {
  const aside = `${file}.stale.${process.pid}`
  yield* Effect.promise(() =>
    rename(file, aside).catch((cause: unknown) => {
      if (!isMissing(cause)) throw cause
    })
  )
  const moved = yield* readHolder(aside)
  if (Option.isSome(moved) && isHeld(moved.value)) yield* Effect.promise(() => link(aside, file))
  yield* Effect.promise(() => rm(aside, { force: true }))
})

const attempt = Effect.fnUntraced(function* (
  file: string,
  directory: string
): Effect.fn.Return<void, DataDirectoryLocked> {
  if (yield* tryTake(file)) return
  const holder = yield* readHolder(file)
  if (Option.isSome(holder) && isHeld(holder.value)) {
    return yield* new DataDirectoryLocked({ directory, pid: holder.value.pid })
  }
  yield* breakStale(file)
  yield* attempt(file, directory)
})

/** Locks the data directory for this process until the scope closes. */
export const acquireLockFile = (
  file: string,
  directory: string
): Effect.Effect<void, DataDirectoryLocked, Scope.Scope> =>
  Effect.acquireRelease(attempt(file, directory), () => Effect.promise(() => rm(file, { force: true }))).pipe(
    Effect.withSpan("LockFile.acquire")
  )
