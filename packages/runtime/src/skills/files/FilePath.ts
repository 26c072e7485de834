import { Either } from "effect"

/** Maximum depth, including the file. */
const maximumDepth = 8
/** Maximum bytes of a name, within the limits of file systems. */
const maximumNameBytes = 200

/** Rejects characters that file systems or terminals interpret. */
const isPlain = (name: string) => !/[\p{Cc}\\]/u.test(name) && name.isWellFormed()

/**
 * Returns the segments of an agent's file path, or the reason for its rejection. The path stays in the agent's folder.
 */
export const parseFilePath = (path: string): Either.Either<ReadonlyArray<string>, string> => {
  if (path.startsWith("/")) return Either.left("The path must be relative, without a / in front.")
  const names = path.split("/").filter((name) => name !== "" && name !== ".")
  if (names.length === 0) return Either.left("The path names no file.")
  if (names.length > maximumDepth) return Either.left(`The path is deeper than ${maximumDepth} folders.`)
  if (names.includes("..")) return Either.left("The path must not contain ..")
  if (!names.every(isPlain)) return Either.left("The path contains characters that a file's name cannot have.")
  if (names.some((name) => Buffer.byteLength(name) > maximumNameBytes))
    return Either.left(`A name in the path is longer than ${maximumNameBytes} bytes.`)
  return Either.right(names)
}
