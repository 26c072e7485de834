import { Data, Effect } from "effect"
import { access, chmod, constants, mkdir, readdir, readFile } from "node:fs/promises"
import { join } from "node:path"
import { writeFileAtomically } from "./AtomicFile.ts"

/** Content of the file `layout` in every data directory; incremented for incompatible changes. */
const currentLayout = "1"

/** Entries of unreleased versions without a `layout` file. */
const unmarkedEntries = ["postgres", "instances"]

/** The data directory belongs to an earlier version whose data this program cannot read. */
class DataDirectoryOutdated extends Data.TaggedError("DataDirectoryOutdated")<{ readonly directory: string }> {
  override readonly message = `The data directory ${this.directory} was made by an older version and cannot be upgraded. Remove it to begin with empty data, or choose another DATA_DIR.`
}

class DataDirectoryTooNew extends Data.TaggedError("DataDirectoryTooNew")<{
  readonly directory: string
  readonly layout: string
}> {
  override readonly message = `The data directory ${this.directory} has layout ${this.layout}, which this program does not know. Start the version that made it, or choose another DATA_DIR.`
}

class DataDirectoryUnusable extends Data.TaggedError("DataDirectoryUnusable")<{
  readonly directory: string
  readonly reason: string
}> {
  override readonly message = `The data directory ${this.directory} cannot be used: ${this.reason}. Choose another DATA_DIR.`
}

export type DataDirectoryRefused = DataDirectoryOutdated | DataDirectoryTooNew

export const isDataDirectoryRefused = (cause: unknown): cause is DataDirectoryRefused =>
  cause instanceof DataDirectoryOutdated || cause instanceof DataDirectoryTooNew

/** Creates a directory for private directories. As root, other accounts can traverse but not list it. */
export const makePassableDirectory = async (directory: string): Promise<void> => {
  const mode = process.getuid?.() === 0 ? 0o711 : 0o700
  const created = await mkdir(directory, { recursive: true, mode })
  // The umask can reduce the mode of `mkdir`.
  if (created !== undefined) await chmod(directory, mode)
}

const isMissing = (cause: unknown) => cause instanceof Error && "code" in cause && cause.code === "ENOENT"

const readLayout = async (directory: string): Promise<string | undefined> => {
  try {
    return (await readFile(join(directory, "layout"), "utf8")).trim()
  } catch (cause) {
    if (isMissing(cause)) return undefined
    throw cause
  }
}

/** Creates the service's data directory and records its layout. Rejects a directory with another layout. */
export const makeDataDirectory = async (directory: string): Promise<void> => {
  await makePassableDirectory(directory)
  // Listed before the layout is read, since entries of a concurrent program follow its layout file.
  const entries = await readdir(directory)
  const layout = await readLayout(directory)
  if (layout === currentLayout) return
  if (layout !== undefined) throw new DataDirectoryTooNew({ directory, layout })
  if (unmarkedEntries.some((entry) => entries.includes(entry))) throw new DataDirectoryOutdated({ directory })
  await writeFileAtomically(join(directory, "layout"), `${currentLayout}\n`)
}

/** Prepares the data directory for a program that writes into it. */
export const prepareDataDirectory = Effect.fn("DataDirectory.prepare")((directory: string) =>
  Effect.tryPromise({
    try: async () => {
      await makeDataDirectory(directory)
      await access(directory, constants.W_OK | constants.X_OK)
    },
    catch: (cause) =>
      isDataDirectoryRefused(cause)
        ? cause
        : new DataDirectoryUnusable({ directory, reason: cause instanceof Error ? cause.message : String(cause) })
  })
)
