import { Data, Effect, Option, Predicate } from "effect"
import { constants } from "node:fs"
import { open } from "node:fs/promises"

/** Something on the file system did not go as it must. */
export class FileOperationFailed extends Data.TaggedError("FileOperationFailed")<{
  readonly operation: string
  readonly cause: unknown
}> {
  override get message() {
    return `${this.operation} failed (${codeOf(this.cause)})`
  }
}

const codeOf = (cause: unknown): string =>
  Predicate.hasProperty(cause, "code") && Predicate.isString(cause.code) ? cause.code : String(cause)

export const isFileMissing = ({ cause }: FileOperationFailed): boolean => codeOf(cause) === "ENOENT"

export const tryFileOperation = <A>(doing: string, work: () => Promise<A>): Effect.Effect<A, FileOperationFailed> =>
  Effect.tryPromise({ try: work, catch: (cause) => new FileOperationFailed({ operation: doing, cause }) })

/**
 * Up to `limit` bytes from `from` on. The file may be a cell's own, so it must be a plain file: a link could lead elsewhere, a
 * pipe would never end. None when it is missing or something else.
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
      (trouble) => isFileMissing(trouble) || codeOf(trouble.cause) === "ELOOP",
      () => Effect.succeedNone
    )
  )
