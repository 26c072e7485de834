import { Data, Effect, Option } from "effect"
import { execFile } from "node:child_process"
import { createHash, randomUUID } from "node:crypto"
import { existsSync, realpathSync } from "node:fs"
import { chmod, chown, copyFile, lstat, mkdir, readFile, realpath, rename, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { type UidRange, uidRange } from "./CellUid.ts"
import { type FileTrouble, io, readPlain } from "./HostFiles.ts"

/** The runtime's program is not where it should be. */
export class BundleIsUnreadable extends Data.TaggedError("BundleIsUnreadable")<{
  readonly bundle: string
  readonly reason: string
}> {
  override get message() {
    return `${this.bundle} cannot be read (${this.reason}); it is built by the build script`
  }
}

/** Where this backend's cells live, and as whom. */
export interface Quarters {
  readonly root: string
  /** The runtime's program, readable for every cell. */
  readonly bundle: string
  /** Cells have accounts of their own in this range; none: they run as the backend does. */
  readonly uids: Option.Option<UidRange>
}

export interface QuartersOptions {
  readonly directory: string
  readonly bundle: string
  readonly node: string
}

/** Under a name made from its content: cells of an older program may still run while a newer one is put beside it. */
const installBundle = (root: string, bundle: string, content: Buffer): Effect.Effect<string, FileTrouble> =>
  io(`copying ${bundle}`, async () => {
    const directory = join(root, ".bundle", createHash("sha256").update(content).digest("hex").slice(0, 16))
    await mkdir(directory, { recursive: true })
    await chmod(join(root, ".bundle"), 0o755)
    await chmod(directory, 0o755)
    const file = join(directory, "runtime.mjs")
    const unfinished = `${file}.${randomUUID()}`
    await copyFile(bundle, unfinished)
    await chmod(unfinished, 0o644)
    await rename(unfinished, file)
    return file
  })

const ready = (directory: string): Effect.Effect<string, FileTrouble> =>
  io(`making ${directory}`, async () => {
    await mkdir(directory, { recursive: true, mode: 0o711 })
    return realpath(directory)
  })

/** Anybody may make directories there, so one that is there already must be ours and nobody else's. */
const readyInTemporary = (name: string): Effect.Effect<string, FileTrouble> =>
  io(`making ${name} for cells`, async () => {
    const directory = join(await realpath(tmpdir()), name)
    await mkdir(directory, { mode: 0o711 }).catch(async () => {
      const found = await lstat(directory)
      if (!found.isDirectory() || found.uid !== process.getuid?.() || (found.mode & 0o022) !== 0)
        throw new Error(`${directory} belongs to somebody else`)
    })
    return directory
  })

const script = `const fs = require("node:fs"); fs.readFileSync(process.argv[1]); fs.writeFileSync(process.argv[2], "")`

/**
 * Can another account run the program there? Tried, not reasoned: it depends on the modes of every directory above, on
 * where Node.js itself lies, and on what the system lets us do.
 */
const habitable = (root: string, bundle: string, node: string, uid: number): Effect.Effect<boolean> =>
  Effect.acquireUseRelease(
    io("trying a cell's account", async () => {
      await chmod(root, 0o711)
      const directory = join(root, `.trial-${randomUUID()}`)
      await mkdir(directory, { mode: 0o700 })
      await chown(directory, uid, uid).catch(() => undefined)
      return directory
    }),
    (directory) =>
      Effect.async<boolean>((resume) => {
        const options = { uid, gid: uid, cwd: "/", env: {}, timeout: 10_000 }
        try {
          execFile(node, ["-e", script, bundle, join(directory, "file")], options, (error) =>
            resume(Effect.succeed(error === null))
          )
        } catch {
          // Some systems refuse at once.
          resume(Effect.succeed(false))
        }
      }),
    (directory) => Effect.orDie(io("ending a trial", () => rm(directory, { recursive: true, force: true })))
  ).pipe(Effect.orElseSucceed(() => false))

const place = (root: Effect.Effect<string, FileTrouble>, bundle: string, content: Buffer) =>
  Effect.flatMap(root, (at) => Effect.map(installBundle(at, bundle, content), (file) => ({ root: at, bundle: file })))

const temporaryName = (root: string) => `berth-cells-${createHash("sha256").update(root).digest("hex").slice(0, 16)}`

/** Where the instances of a data directory can be: there, or outside of it when other accounts cannot reach it. */
export const instanceRoots = (directory: string): ReadonlyArray<string> => {
  if (!existsSync(directory)) return []
  const root = realpathSync(directory)
  return [root, join(realpathSync(tmpdir()), temporaryName(root))]
}

/** Finds a place in which cells can run under accounts of their own; else, or when we have no right to give them any, under ours. */
export const findQuarters = (options: QuartersOptions): Effect.Effect<Quarters, BundleIsUnreadable | FileTrouble> =>
  Effect.gen(function* () {
    const { bundle, directory, node } = options
    const content = yield* Effect.mapError(
      io("reading it", () => readFile(bundle)),
      ({ message }) => new BundleIsUnreadable({ bundle, reason: message })
    )
    const first = yield* place(ready(directory), bundle, content)
    if (process.getuid?.() !== 0) return { ...first, uids: Option.none() }

    const range = uidRange(Option.getOrNull(yield* readPlain("/proc/self/uid_map", 64 * 1024)))
    if (Option.isSome(range)) {
      if (yield* habitable(first.root, first.bundle, node, range.value.first)) return { ...first, uids: range }
      const name = temporaryName(first.root)
      const second = yield* Effect.option(place(readyInTemporary(name), bundle, content))
      if (
        Option.isSome(second) &&
        (yield* habitable(second.value.root, second.value.bundle, node, range.value.first))
      ) {
        yield* Effect.logWarning(
          "Cells live outside of the data directory, which other accounts than the backend's cannot reach"
        ).pipe(Effect.annotateLogs({ directory: first.root, cells: second.value.root }))
        return { ...second.value, uids: range }
      }
    }
    yield* Effect.logWarning("Cells share the backend's account: this system gives them none of their own").pipe(
      Effect.annotateLogs({ directory: first.root })
    )
    return { ...first, uids: Option.none() }
  })
