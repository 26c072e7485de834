import { Effect, Option } from "effect"
import { access, constants, stat, statfs } from "node:fs/promises"
import { dirname, join, resolve } from "node:path"
import type { Settings } from "./Settings.ts"
import type { ProgramKind } from "./SettingsFaults.ts"

/** A new embedded database requires about 50 MiB, and as much for its write-ahead log. */
const minimumFreeMiB = 128
const bytesPerMiB = 1024 * 1024

/** Whether the program writes to `DATA_DIR`. */
const usesDataDirectory = ({ environment, role }: Settings, program: ProgramKind) =>
  environment === "development" || program === "supervisor" || (program === "server" && role !== "web")

const codeOf = (cause: unknown) =>
  cause instanceof Error && "code" in cause && typeof cause.code === "string" ? cause.code : String(cause)

/** Returns the directory, or its closest existing ancestor. */
const findExisting = async (path: string): Promise<string> => {
  try {
    await stat(path)
    return path
  } catch (cause) {
    const parent = dirname(path)
    // ENOTDIR: an ancestor is a file.
    if (parent === path || !["ENOENT", "ENOTDIR"].includes(codeOf(cause))) throw cause
    return findExisting(parent)
  }
}

const findProblem = async (directory: string, createsDatabase: boolean): Promise<Option.Option<string>> => {
  // The permissions of an instance's process would read it as a pattern.
  if (directory.includes("*")) return Option.some(`${directory} contains *; choose a directory without it`)
  try {
    const existing = await findExisting(directory)
    if (!(await stat(existing)).isDirectory()) return Option.some(`${existing} is not a directory`)
    await access(existing, constants.W_OK | constants.X_OK)
    const database = join(directory, "postgres")
    if (!createsDatabase || (await findExisting(database)) === database) return Option.none()
    const { bavail, bsize } = await statfs(existing)
    const free = Math.floor((bavail * bsize) / bytesPerMiB)
    return free < minimumFreeMiB
      ? Option.some(`${existing} has ${free} MiB free; the embedded database needs ${minimumFreeMiB} MiB`)
      : Option.none()
  } catch (cause) {
    return Option.some(`${directory} cannot be written (${codeOf(cause)}); choose a directory that this user can write`)
  }
}

/** Finds a problem of `DATA_DIR` without creating anything. */
export const findDataDirectoryFaults = (settings: Settings, program: ProgramKind) =>
  usesDataDirectory(settings, program)
    ? Effect.promise(() =>
        findProblem(resolve(settings.dataDir), program === "supervisor" && Option.isNone(settings.databaseUrl))
      ).pipe(Effect.map((problem) => Option.toArray(problem).map((text) => `DATA_DIR: ${text}`)))
    : Effect.succeed([])
