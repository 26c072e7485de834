import { Data, Effect, Redacted } from "effect"
import { link, mkdir, open, readFile, rm } from "node:fs/promises"
import { randomUUID } from "node:crypto"
import { dirname, join } from "node:path"
import { type DataDirectoryRefused, isDataDirectoryRefused, makeDataDirectory } from "../files/DataDirectory.ts"

/** A generated key cannot be read or stored. */
class KeyFileUnusable extends Data.TaggedError("KeyFileUnusable")<{
  readonly path: string
  readonly cause: unknown
}> {
  override readonly message = `The generated key ${this.path} cannot be read or made: ${String(this.cause)}`
}

const hasCode = (cause: unknown, code: string) => cause instanceof Error && "code" in cause && cause.code === code

const readOrGenerate = async (path: string, make: () => Redacted.Redacted): Promise<string> => {
  try {
    return await readFile(path, "utf8")
  } catch (cause) {
    if (!hasCode(cause, "ENOENT")) throw cause
  }
  // A temporary file is linked into place: atomic, and the first of several processes wins.
  const draft = `${path}.${randomUUID()}`
  try {
    const file = await open(draft, "wx", 0o600)
    try {
      await file.writeFile(Redacted.value(make()))
      // fsync before use, since a sealed secret must not outlive its key.
      await file.sync()
    } finally {
      await file.close()
    }
    await link(draft, path).catch((cause: unknown) => {
      if (!hasCode(cause, "EEXIST")) throw cause
    })
  } finally {
    await rm(draft, { force: true })
  }
  return readFile(path, "utf8")
}

/** Returns a secret of this installation, generated on first use into a file of mode 0600; stable afterwards. */
export const ensureSecret = (
  directory: string,
  name: string,
  make: () => Redacted.Redacted
): Effect.Effect<Redacted.Redacted, KeyFileUnusable | DataDirectoryRefused> => {
  const path = join(directory, name)
  return Effect.tryPromise({
    try: async () => {
      await makeDataDirectory(dirname(directory))
      await mkdir(directory, { recursive: true, mode: 0o700 })
      const secret = (await readOrGenerate(path, make)).trim()
      if (secret === "") throw new Error("the file is empty")
      return Redacted.make(secret)
    },
    catch: (cause) => (isDataDirectoryRefused(cause) ? cause : new KeyFileUnusable({ path, cause }))
  })
}
