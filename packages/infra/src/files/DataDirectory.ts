import { Data, Effect } from "effect"
import { randomUUID } from "node:crypto"
import { access, constants, mkdir, readdir, readFile, rename, writeFile } from "node:fs/promises"
import { join } from "node:path"

/** Stored in the file `layout` of every data directory; raised when the directory's content changes incompatibly. */
const currentLayout = "1"

/** Entries of unreleased versions, which had no `layout` file. */
const unmarkedEntries = ["postgres", "instances"]

/** The data directory was made by a version whose data this program cannot read. */
export class DataDirectoryOutdated extends Data.TaggedError("DataDirectoryOutdated")<{ readonly directory: string }> {
  override get message() {
    return `The data directory ${this.directory} was made by an older version and cannot be upgraded. Remove it to begin with empty data, or choose another DATA_DIR.`
  }
}

/** The data directory was made by a newer program. */
export class DataDirectoryTooNew extends Data.TaggedError("DataDirectoryTooNew")<{
  readonly directory: string
  readonly layout: string
}> {
  override get message() {
    return `The data directory ${this.directory} has layout ${this.layout}, which this program does not know. Start the version that made it, or choose another DATA_DIR.`
  }
}

export class DataDirectoryUnusable extends Data.TaggedError("DataDirectoryUnusable")<{
  readonly directory: string
  readonly reason: string
}> {
  override get message() {
    return `The data directory ${this.directory} cannot be used: ${this.reason}. Choose another DATA_DIR.`
  }
}

export type DataDirectoryRefused = DataDirectoryOutdated | DataDirectoryTooNew

export const isDataDirectoryRefused = (cause: unknown): cause is DataDirectoryRefused =>
  cause instanceof DataDirectoryOutdated || cause instanceof DataDirectoryTooNew

/** Makes a directory that holds private ones. As root, other accounts may pass through it but not list it. */
export const makePassableDirectory = async (directory: string): Promise<void> => {
  await mkdir(directory, { recursive: true, mode: process.getuid?.() === 0 ? 0o711 : 0o700 })
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

/** Makes the service's data directory and marks its layout. Rejects when the directory has another layout. */
export const makeDataDirectory = async (directory: string): Promise<void> => {
  await makePassableDirectory(directory)
  // Listed before the layout is read: entries that another program creates in the meantime follow its layout file.
  const entries = await readdir(directory)
  const layout = await readLayout(directory)
  if (layout === currentLayout) return
  if (layout !== undefined) throw new DataDirectoryTooNew({ directory, layout })
  if (unmarkedEntries.some((entry) => entries.includes(entry))) throw new DataDirectoryOutdated({ directory })
  const draft = join(directory, `.layout.${randomUUID()}`)
  await writeFile(draft, `${currentLayout}\n`, { mode: 0o600 })
  await rename(draft, join(directory, "layout"))
}

/** Makes the data directory ready for a program that writes into it. */
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
