import { ToolFailed } from "@berth/domain/skills/tools/Tool"
import { Effect, Either } from "effect"
import { constants } from "node:fs"
import { lstat, mkdir, open, readdir, rename, rm, rmdir, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { parseFilePath } from "./FilePath.ts"
import type { AgentId } from "@berth/domain/shared/AgentId"

/** Maximum bytes of a file. */
const fileLimit = 1024 * 1024
/** Maximum files and folders of an agent. */
export const entryLimit = 1_000
/** Size of a disk block, the minimum size of a file. */
const blockSize = 4096

interface AgentFilesOptions {
  /** Folder of all agents. */
  readonly directory: string
  /** Quota of all agents' files in bytes. */
  readonly quota: number
}

/** `bytes` is null for folders. */
interface FileEntry {
  readonly path: string
  readonly bytes: number | null
}

/** Text files of agents, each agent confined to its folder. */
export interface AgentFiles {
  readonly list: (agent: AgentId) => Effect.Effect<ReadonlyArray<FileEntry>, ToolFailed>
  readonly read: (agent: AgentId, path: string) => Effect.Effect<string, ToolFailed>
  /** Atomic: a failure keeps the previous file. */
  readonly write: (agent: AgentId, path: string, text: string) => Effect.Effect<void, ToolFailed>
  readonly delete: (agent: AgentId, path: string) => Effect.Effect<void, ToolFailed>
}

const toToolFailed = (reason: string) => new ToolFailed({ reason })

const codeOf = (cause: unknown): string =>
  cause instanceof Error && "code" in cause && typeof cause.code === "string" ? cause.code : ""

const sentences: Readonly<Record<string, string>> = {
  ENOENT: "There is no such file.",
  EISDIR: "That is a folder, not a file.",
  ENOTDIR: "A part of the path is a file, not a folder.",
  ENOTEMPTY: "The folder is not empty.",
  ELOOP: "That is a link, and links are not followed.",
  ENOSPC: "There is no space left.",
  EDQUOT: "There is no space left."
}

/** Converts file system errors to sentences; all other errors are defects. */
const runFileOperation = <A>(work: () => Promise<A>): Effect.Effect<A, ToolFailed> =>
  Effect.tryPromise({ try: work, catch: (cause) => cause }).pipe(
    Effect.catchAll((cause) => {
      if (cause instanceof ToolFailed) return cause
      const code = codeOf(cause)
      return code === "" ? Effect.die(cause) : toToolFailed(sentences[code] ?? `The file cannot be used (${code}).`)
    })
  )

const entriesBelow = async (folder: string, prefix = ""): Promise<ReadonlyArray<FileEntry>> => {
  const found: Array<FileEntry> = []
  for (const { name } of await readdir(folder, { withFileTypes: true }).catch(ignoreMissing)) {
    const path = prefix + name
    const is = await lstat(join(folder, name))
    if (is.isDirectory()) found.push({ path, bytes: null }, ...(await entriesBelow(join(folder, name), `${path}/`)))
    else found.push({ path, bytes: is.size })
    if (found.length > 10 * entryLimit) break
  }
  return found
}

const ignoreMissing = (cause: unknown) => {
  if (codeOf(cause) === "ENOENT") return []
  throw cause
}

/** Returns the disk usage, at least one block per entry, so that empty files count. */
const measureEntries = (entries: ReadonlyArray<FileEntry>): number =>
  entries.reduce((sum, { bytes }) => sum + Math.ceil(Math.max(1, bytes ?? 1) / blockSize) * blockSize, 0)

/** Returns the bytes of all agents' files, as counted by the quota. */
export const measureAgentFiles = (directory: string): Effect.Effect<number, ToolFailed> =>
  runFileOperation(async () => measureEntries(await entriesBelow(directory)))

/** Opens folders, creating missing ones; rejects links. */
const enter = async (root: string, folders: ReadonlyArray<string>, make: boolean): Promise<string> => {
  let folder = root
  for (const name of ["", ...folders]) {
    folder = join(folder, name)
    if (make) await mkdir(folder, { mode: 0o700, recursive: name === "" }).catch(ignoreExisting)
    const stats = await lstat(folder)
    if (stats.isSymbolicLink()) throw toToolFailed(sentences["ELOOP"] ?? "")
    if (!stats.isDirectory()) throw toToolFailed(sentences["ENOTDIR"] ?? "")
  }
  return folder
}

const ignoreExisting = (cause: unknown) => {
  if (codeOf(cause) !== "EEXIST") throw cause
}

/** Ids contain no path separators. */
const isPlainId = (id: string) => /^[A-Za-z0-9_-]{1,128}$/.test(id)

export const make = ({ directory, quota }: AgentFilesOptions): Effect.Effect<AgentFiles> =>
  Effect.map(Effect.makeSemaphore(1), (lock) => {
    const rootOf = (agent: AgentId) => join(directory, agent, "files")
    const draftsOf = (agent: AgentId) => join(directory, agent, "drafts")

    const locate = Effect.fnUntraced(function* (agent: AgentId, path: string) {
      if (!isPlainId(agent)) return yield* toToolFailed("This agent cannot have files.")
      const names = yield* Either.mapLeft(parseFilePath(path), toToolFailed)
      return { root: rootOf(agent), folders: names.slice(0, -1), name: names.at(-1) ?? "", path: names.join("/") }
    })

    const list = Effect.fn("AgentFiles.list")((agent: AgentId) =>
      isPlainId(agent)
        ? runFileOperation(() => entriesBelow(rootOf(agent)))
        : toToolFailed("This agent cannot have files.")
    )

    const read = Effect.fn("AgentFiles.read")(function* (agent: AgentId, path: string) {
      const { folders, name, root } = yield* locate(agent, path)
      const bytes = yield* runFileOperation(async () => {
        const folder = await enter(root, folders, false)
        const file = await open(join(folder, name), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
        try {
          const is = await file.stat()
          if (is.isDirectory()) throw toToolFailed(sentences["EISDIR"] ?? "")
          if (!is.isFile()) throw toToolFailed("That is not a file.")
          if (is.size > fileLimit) throw toToolFailed("The file is larger than 1 MiB.")
          return await file.readFile()
        } finally {
          await file.close()
        }
      })
      return yield* Effect.try({
        try: () => new TextDecoder("utf-8", { fatal: true }).decode(bytes),
        catch: () => toToolFailed("The file is not text.")
      })
    })

    /** Checks the quota before a file is replaced. */
    const checkQuota = async (agent: AgentId, path: string, size: number) => {
      const own = await entriesBelow(rootOf(agent))
      const before = own.find((entry) => entry.path === path)
      if (before === undefined && own.length >= entryLimit)
        throw toToolFailed(`There are ${entryLimit} files and folders already. Delete some first.`)
      const room =
        quota - measureEntries(await entriesBelow(directory)) + (before === undefined ? 0 : measureEntries([before]))
      if (measureEntries([{ path, bytes: size }]) > room)
        throw toToolFailed(
          `There is no space left for that: ${Math.max(0, room)} bytes are free. Delete some files first.`
        )
    }

    const write = Effect.fn("AgentFiles.write")(function* (agent: AgentId, path: string, text: string) {
      const { folders, name, path: plain, root } = yield* locate(agent, path)
      const bytes = Buffer.from(text, "utf8")
      if (bytes.length > fileLimit)
        return yield* toToolFailed("The text is longer than 1 MiB, which is all that a file holds.")
      yield* runFileOperation(async () => {
        const drafts = draftsOf(agent)
        // Left by a runtime that was killed during a write.
        await rm(drafts, { recursive: true, force: true })
        await checkQuota(agent, plain, bytes.length)
        await mkdir(drafts, { recursive: true, mode: 0o700 })
        const draft = join(drafts, "draft")
        await writeFile(draft, bytes, { mode: 0o600, flush: true })
        const folder = await enter(root, folders, true)
        await rename(draft, join(folder, name))
      }).pipe(
        // Serialized, so that the quota is exact.
        lock.withPermits(1)
      )
    })

    const remove = Effect.fn("AgentFiles.delete")(function* (agent: AgentId, path: string) {
      const { folders, name, root } = yield* locate(agent, path)
      yield* runFileOperation(async () => {
        const target = join(await enter(root, folders, false), name)
        const is = await lstat(target)
        await (is.isDirectory() ? rmdir(target) : rm(target))
      }).pipe(lock.withPermits(1))
    })

    return { list, read, write, delete: remove }
  })
