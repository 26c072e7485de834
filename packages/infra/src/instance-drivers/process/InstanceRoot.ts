import { Data, Effect, Option } from "effect"
import { execFile } from "node:child_process"
import { createHash, randomUUID } from "node:crypto"
import { existsSync, realpathSync } from "node:fs"
import { chmod, chown, mkdir, readdir, readFile, realpath, rm } from "node:fs/promises"
import { basename, dirname, join } from "node:path"
import { writeFileAtomically } from "../../files/AtomicFile.ts"
import { type UidRange, selectUidRange } from "./UidAllocation.ts"
import {
  ensureOwnDirectory,
  findTemporaryDirectory,
  type FileOperationFailed,
  tryFileOperation,
  readRegularFile
} from "../HostFiles.ts"

export class BundleUnreadable extends Data.TaggedError("BundleUnreadable")<{
  readonly bundle: string
  readonly reason: string
}> {
  override readonly message = `${this.bundle} cannot be read (${this.reason}). Run the build script`
}

/** Separate accounts for instances, required by the settings, are unavailable. */
export class InstanceAccountsUnavailable extends Data.TaggedError("InstanceAccountsUnavailable")<{
  readonly reason: string
}> {
  override readonly message = `Instances cannot have accounts of their own: ${this.reason}. Run the backend as root and set INSTANCE_UIDS to a range of unused user ids, for example 1900000000-1900099999.`
}

/** Directory of this backend's instances, and their accounts. */
interface InstanceRoot {
  readonly path: string
  /** Program of the runtime, readable for every instance. */
  readonly bundle: string
  /** Range of the instances' accounts; none: instances share the backend's account. */
  readonly uids: Option.Option<UidRange>
}

interface InstanceRootOptions {
  readonly directory: string
  readonly bundle: string
  readonly node: string
  /** Absent: the first default range mapped in this user namespace. */
  readonly uids: Option.Option<UidRange>
  /** Whether to reject instances without separate accounts. */
  readonly requiresAccounts: boolean
}

interface BundleFile {
  readonly name: string
  readonly content: Buffer
}

/** Reads the files in the folder of a program: its entry, and the files that the entry reads. */
const readBundle = (bundle: string): Effect.Effect<ReadonlyArray<BundleFile>, BundleUnreadable> =>
  tryFileOperation("reading", async () => {
    const folder = dirname(bundle)
    const names = (await readdir(folder)).toSorted()
    if (!names.includes(basename(bundle))) throw new Error(`${folder} has no ${basename(bundle)}`)
    return Promise.all(names.map(async (name) => ({ name, content: await readFile(join(folder, name)) })))
  }).pipe(Effect.mapError(({ message }) => new BundleUnreadable({ bundle, reason: message })))

/** Digest of the program, without its compile cache, which differs between builds. */
const digestBundle = (files: ReadonlyArray<BundleFile>): string => {
  const hash = createHash("sha256")
  for (const { content, name } of files) if (!name.endsWith(".cache")) hash.update(`${name}\0`).update(content)
  return hash.digest("hex").slice(0, 16)
}

/** Named by its digest, since instances of an older version may still run. Instances can only read the files. */
const installBundle = (root: string, bundle: string, files: ReadonlyArray<BundleFile>) =>
  tryFileOperation(`copying ${bundle}`, async () => {
    const directory = join(root, ".bundle", digestBundle(files))
    await mkdir(directory, { recursive: true })
    await chmod(join(root, ".bundle"), 0o755)
    await chmod(directory, 0o755)
    for (const { content, name } of files) await writeFileAtomically(join(directory, name), content, 0o644)
    return join(directory, basename(bundle))
  })

const prepareDirectory = (directory: string): Effect.Effect<string, FileOperationFailed> =>
  tryFileOperation(`making ${directory}`, async () => {
    await mkdir(directory, { recursive: true, mode: 0o711 })
    return realpath(directory)
  })

const prepareTemporaryDirectory = (name: string): Effect.Effect<string, FileOperationFailed> =>
  tryFileOperation(`making ${name}`, async () => ensureOwnDirectory(join(findTemporaryDirectory(), name)))

const accessCheckScript = `const fs = require("node:fs"); fs.readFileSync(process.argv[1]); fs.writeFileSync(process.argv[2], "")`

/**
 * Whether the account can run the program there. Tested by execution, since it depends on all parent directories,
 * including those of Node.js.
 */
const canRunAs = (root: string, bundle: string, node: string, uid: number): Effect.Effect<boolean> =>
  Effect.acquireUseRelease(
    tryFileOperation("trying an account", async () => {
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
          execFile(node, ["-e", accessCheckScript, bundle, join(directory, "file")], options, (error) =>
            resume(Effect.succeed(error === null))
          )
        } catch {
          // Some systems throw synchronously.
          resume(Effect.succeed(false))
        }
      }),
    (directory) =>
      Effect.orDie(tryFileOperation("removing a trial", () => rm(directory, { recursive: true, force: true })))
  ).pipe(Effect.orElseSucceed(() => false))

const installIn = (
  root: Effect.Effect<string, FileOperationFailed>,
  bundle: string,
  files: ReadonlyArray<BundleFile>
) => Effect.flatMap(root, (at) => Effect.map(installBundle(at, bundle, files), (file) => ({ path: at, bundle: file })))

const temporaryName = (root: string) =>
  `berth-instances-${createHash("sha256").update(root).digest("hex").slice(0, 16)}`

/** Candidate directories of instances: in the data directory, and one outside of it that other accounts can access. */
export const instanceRoots = (directory: string): ReadonlyArray<string> => {
  if (!existsSync(directory)) return []
  const root = realpathSync(directory)
  return [root, join(findTemporaryDirectory(), temporaryName(root))]
}

/** Finds a directory in which instances can run under separate accounts; falls back to the backend's account. */
export const prepareInstanceRoot = Effect.fnUntraced(function* (
  options: InstanceRootOptions
): Effect.fn.Return<InstanceRoot, BundleUnreadable | FileOperationFailed | InstanceAccountsUnavailable> {
  const { bundle, directory, node } = options
  const files = yield* readBundle(bundle)
  const first = yield* installIn(prepareDirectory(directory), bundle, files)
  const withoutAccounts = (reason: string) =>
    options.requiresAccounts || Option.isSome(options.uids)
      ? new InstanceAccountsUnavailable({ reason })
      : Effect.logWarning("Instances share the backend's account").pipe(
          Effect.annotateLogs({ directory: first.path, reason }),
          Effect.as({ ...first, uids: Option.none() })
        )
  if (process.getuid?.() !== 0) return yield* withoutAccounts("the backend does not run as root")

  const uidMap = Option.getOrNull(yield* readRegularFile("/proc/self/uid_map", 64 * 1024))
  const range = Option.orElse(options.uids, () => selectUidRange(uidMap))
  if (Option.isNone(range)) return yield* withoutAccounts("this user namespace maps too few user ids")
  if (yield* canRunAs(first.path, first.bundle, node, range.value.first)) return { ...first, uids: range }
  const name = temporaryName(first.path)
  const second = yield* Effect.option(installIn(prepareTemporaryDirectory(name), bundle, files))
  if (Option.isSome(second) && (yield* canRunAs(second.value.path, second.value.bundle, node, range.value.first))) {
    yield* Effect.logWarning("Instances placed outside the data directory, which other accounts cannot reach").pipe(
      Effect.annotateLogs({ directory: first.path, instances: second.value.path })
    )
    return { ...second.value, uids: range }
  }
  return yield* withoutAccounts(`user id ${range.value.first} cannot run the runtime`)
})
