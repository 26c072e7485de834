import { Data, Effect, Option, Predicate } from "effect"
import { constants, existsSync, realpathSync } from "node:fs"
import { chmod, lstat, mkdir, open } from "node:fs/promises"
import { tmpdir } from "node:os"

/** Error codes caused by the host, regardless of the file, with advice. */
const hostAdvice: Readonly<Record<string, string>> = {
  ENOSPC: "The disk is full: free space on it.",
  EDQUOT: "The disk quota is used up: raise it, or free space.",
  EROFS: "The disk is mounted read-only: mount it for writing.",
  EIO: "The disk reports an error: check the host's log.",
  EMFILE: "Raise the limit of open files.",
  ENFILE: "Raise the host's limit of open files."
}

export class FileOperationFailed extends Data.TaggedError("FileOperationFailed")<{
  readonly operation: string
  readonly cause: unknown
}> {
  override get message() {
    const code = codeOf(this.cause)
    const advice = hostAdvice[code]
    return `${this.operation} failed (${code})${advice === undefined ? "" : `. ${advice}`}`
  }
}

/** Whether the host instead of the file causes the failure. */
export const isHostFault = ({ cause }: FileOperationFailed): boolean => Object.hasOwn(hostAdvice, codeOf(cause))

const codeOf = (cause: unknown): string =>
  Predicate.hasProperty(cause, "code") && Predicate.isString(cause.code) ? cause.code : String(cause)

export const isFileMissing = ({ cause }: FileOperationFailed): boolean => codeOf(cause) === "ENOENT"

export const tryFileOperation = <A>(operation: string, work: () => Promise<A>): Effect.Effect<A, FileOperationFailed> =>
  Effect.tryPromise({ try: work, catch: (cause) => new FileOperationFailed({ operation, cause }) })

/** Returns the temporary directory without links; /tmp if `TMPDIR` names a directory that has been removed. */
export const findTemporaryDirectory = (directory = tmpdir()): string =>
  realpathSync(existsSync(directory) ? directory : "/tmp")

/**
 * Creates a directory that other accounts can only traverse. The temporary directory is world-writable, so an existing
 * directory must belong to this account.
 */
export const ensureOwnDirectory = async (directory: string): Promise<string> => {
  await mkdir(directory, { mode: 0o711 }).catch(async () => {
    const stats = await lstat(directory)
    if (!stats.isDirectory() || stats.uid !== process.getuid?.() || (stats.mode & 0o022) !== 0)
      throw new Error(`${directory} belongs to another account`)
  })
  // The umask can reduce the mode of `mkdir`.
  await chmod(directory, 0o711)
  return directory
}

/**
 * Reads up to `limit` bytes starting at `from`. The file can be created by an instance: links are not followed, and
 * pipes are not read. None if it is absent or not a regular file.
 */
export const readRegularFile = (
  path: string,
  limit: number,
  from = 0
): Effect.Effect<Option.Option<string>, FileOperationFailed> =>
  tryFileOperation(`reading ${path}`, async () => {
    const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
    try {
      if (!(await file.stat()).isFile()) return Option.none()
      const { buffer, bytesRead } = await file.read(Buffer.alloc(limit), 0, limit, from)
      return Option.some(buffer.toString("utf8", 0, bytesRead))
    } finally {
      await file.close()
    }
  }).pipe(
    Effect.catchIf(
      (error) => isFileMissing(error) || codeOf(error.cause) === "ELOOP",
      () => Effect.succeedNone
    )
  )
