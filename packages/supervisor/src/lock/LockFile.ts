import { birth, isAlive } from "@berth/infra/process/RunningProcess"
import { Data, Effect, Option, type Scope } from "effect"
import { link, readFile, rename, rm, writeFile } from "node:fs/promises"
import * as LockHolder from "./LockHolder.ts"

/** Another supervisor works on this data directory. */
export class DataDirectoryIsTaken extends Data.TaggedError("DataDirectoryIsTaken")<{
  readonly directory: string
  readonly pid: number
}> {
  override get message() {
    return `Another Berth (process ${this.pid}) runs on ${this.directory}. Stop it first, or choose another DATA_DIR, PORT and BACKEND_PORT.`
  }
}

const missing = (cause: unknown) => cause instanceof Error && "code" in cause && cause.code === "ENOENT"
const there = (cause: unknown) => cause instanceof Error && "code" in cause && cause.code === "EEXIST"

const holderIn = (file: string) =>
  Effect.promise(async () => {
    try {
      return Option.some(await readFile(file, "utf8"))
    } catch (cause) {
      if (missing(cause)) return Option.none<string>()
      throw cause
    }
  }).pipe(Effect.map(Option.flatMap(LockHolder.parse)))

const isHeld = (holder: LockHolder.LockHolder) =>
  LockHolder.isHeld(holder, { alive: isAlive(holder.pid), birth: birth(holder.pid) })

/** Written under another name and then linked, so that nobody ever reads a lock without its holder in it. */
const take = (file: string) =>
  Effect.promise(async () => {
    const draft = `${file}.${process.pid}`
    await writeFile(draft, LockHolder.print({ pid: process.pid, birth: birth(process.pid) }))
    try {
      await link(draft, file)
      return true
    } catch (cause) {
      if (there(cause)) return false
      throw cause
    } finally {
      await rm(draft, { force: true })
    }
  })

/** Two may find the same stale lock; it is put back if it turns out that the other has taken it meanwhile. */
const breakStale = (file: string) =>
  Effect.gen(function* () {
    const aside = `${file}.stale.${process.pid}`
    yield* Effect.promise(() =>
      rename(file, aside).catch((cause: unknown) => {
        if (!missing(cause)) throw cause
      })
    )
    const moved = yield* holderIn(aside)
    if (Option.isSome(moved) && isHeld(moved.value)) yield* Effect.promise(() => link(aside, file))
    yield* Effect.promise(() => rm(aside, { force: true }))
  })

const attempt = (file: string, directory: string): Effect.Effect<void, DataDirectoryIsTaken> =>
  Effect.gen(function* () {
    if (yield* take(file)) return
    const holder = yield* holderIn(file)
    if (Option.isSome(holder) && isHeld(holder.value)) {
      return yield* new DataDirectoryIsTaken({ directory, pid: holder.value.pid })
    }
    yield* breakStale(file)
    yield* attempt(file, directory)
  })

/** Holds the data directory for this process until the scope closes. */
export const acquire = (file: string, directory: string): Effect.Effect<void, DataDirectoryIsTaken, Scope.Scope> =>
  Effect.acquireRelease(attempt(file, directory), () => Effect.promise(() => rm(file, { force: true }))).pipe(
    Effect.withSpan("LockFile.acquire")
  )
