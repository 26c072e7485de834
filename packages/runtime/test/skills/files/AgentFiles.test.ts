import * as AgentFiles from "@berth/runtime/skills/files/AgentFiles"
import { expect, it } from "@effect/vitest"
import { Effect, Either } from "effect"
import { mkdir, readdir, readFile, symlink, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { temporaryDirectory } from "../../../../../test/support/TemporaryDirectories.ts"
import { AgentId } from "@berth/domain/shared/AgentId"

const ada = AgentId.make("agt_ada")
const bob = AgentId.make("agt_bob")
const mib = 1024 * 1024

const make = (quota = 64 * mib) =>
  Effect.gen(function* () {
    const directory = join(yield* temporaryDirectory, "agents")
    return { directory, files: yield* AgentFiles.make({ directory, quota }) }
  })

const io = <A>(work: () => Promise<A>) => Effect.promise(work)
const reason = <A, R>(effect: Effect.Effect<A, { readonly reason: string }, R>) =>
  Effect.map(Effect.flip(effect), (error) => error.reason)

it.scopedLive("keeps what is written, by agent", () =>
  Effect.gen(function* () {
    const { directory, files } = yield* make()
    expect(yield* files.list(ada)).toStrictEqual([])
    yield* files.write(ada, "notes/one.md", "first ☺")
    yield* files.write(ada, "./notes//one.md", "second ☺")
    yield* files.write(ada, "two", "")
    expect(yield* files.read(ada, "notes/one.md")).toBe("second ☺")
    expect(yield* files.list(ada)).toStrictEqual([
      { path: "notes", bytes: null },
      { path: "notes/one.md", bytes: 10 },
      { path: "two", bytes: 0 }
    ])
    expect(yield* files.list(bob)).toStrictEqual([])
    expect(yield* reason(files.read(bob, "two"))).toBe("There is no such file.")
    // Where the files lie, and nothing beside them.
    expect(yield* io(() => readFile(join(directory, "agt_ada", "files", "notes", "one.md"), "utf8"))).toBe("second ☺")
    expect(yield* io(() => readdir(join(directory, "agt_ada", "drafts")))).toStrictEqual([])
    yield* files.delete(ada, "notes/one.md")
    yield* files.delete(ada, "notes")
    expect(yield* files.list(ada)).toStrictEqual([{ path: "two", bytes: 0 }])
  })
)

it.scopedLive("says what is wrong", () =>
  Effect.gen(function* () {
    const { files } = yield* make()
    yield* files.write(ada, "folder/file", "text")
    expect(yield* reason(files.read(ada, "nothing"))).toBe("There is no such file.")
    expect(yield* reason(files.read(ada, "folder"))).toBe("That is a folder, not a file.")
    expect(yield* reason(files.read(ada, "folder/file/more"))).toBe("A part of the path is a file, not a folder.")
    expect(yield* reason(files.write(ada, "folder", "text"))).toBe("That is a folder, not a file.")
    expect(yield* reason(files.write(ada, "folder/file/more", "text"))).toBe(
      "A part of the path is a file, not a folder."
    )
    expect(yield* reason(files.delete(ada, "nothing"))).toBe("There is no such file.")
    expect(yield* reason(files.delete(ada, "folder"))).toBe("The folder is not empty.")
    expect(yield* reason(files.write(ada, "../out", "text"))).toContain("..")
    expect(yield* reason(files.list(AgentId.make("../..")))).toContain("cannot have files")
    expect(yield* reason(files.write(AgentId.make("a/b"), "x", "text"))).toContain("cannot have files")
    expect(yield* files.read(ada, "folder/file")).toBe("text")
  })
)

it.scopedLive("follows no links, wherever they stand in a path", () =>
  Effect.gen(function* () {
    const { directory, files } = yield* make()
    yield* files.write(ada, "own", "own")
    const root = join(directory, "agt_ada", "files")
    const outside = join(directory, "outside")
    yield* io(async () => {
      await mkdir(outside)
      await writeFile(join(outside, "secret"), "secret")
      await symlink(outside, join(root, "folder"))
      await symlink(join(outside, "secret"), join(root, "file"))
    })
    for (const path of ["file", "folder/secret", "folder"])
      expect(yield* reason(files.read(ada, path))).toContain("links are not followed")
    expect(yield* reason(files.write(ada, "folder/new", "x"))).toContain("links are not followed")
    expect(yield* reason(files.delete(ada, "folder/secret"))).toContain("links are not followed")
    // Writing replaces the link itself, deleting removes it.
    yield* files.write(ada, "file", "mine")
    yield* files.delete(ada, "folder")
    expect(yield* io(() => readdir(outside))).toStrictEqual(["secret"])
    expect(yield* io(() => readFile(join(outside, "secret"), "utf8"))).toBe("secret")
    // What a link leads to is not looked into either.
    yield* io(() => symlink(outside, join(root, "again")))
    expect((yield* files.list(ada)).map(({ path }) => path)).toStrictEqual(["again", "file", "own"])
  })
)

it.scopedLive("reads text only, and files of 1 MiB at most", () =>
  Effect.gen(function* () {
    const { directory, files } = yield* make()
    yield* files.write(ada, "full", "x".repeat(mib))
    expect((yield* files.read(ada, "full")).length).toBe(mib)
    expect(yield* reason(files.write(ada, "full", "x".repeat(mib + 1)))).toContain("1 MiB")
    expect(yield* reason(files.write(ada, "new", "☺".repeat(mib / 2)))).toContain("1 MiB")
    yield* io(() => writeFile(join(directory, "agt_ada", "files", "image"), Buffer.from([0x89, 0x50, 0xff])))
    yield* io(() => writeFile(join(directory, "agt_ada", "files", "huge"), Buffer.alloc(mib + 1)))
    expect(yield* reason(files.read(ada, "image"))).toBe("The file is not text.")
    expect(yield* reason(files.read(ada, "huge"))).toContain("larger than 1 MiB")
  })
)

it.scopedLive("stays within the quota, also when many write at once", () =>
  Effect.gen(function* () {
    const { files } = yield* make(mib)
    const written = yield* Effect.forEach(
      Array.from({ length: 20 }),
      (_, at) => Effect.either(files.write(at % 2 === 0 ? ada : bob, `file-${at}`, "x".repeat(100_000))),
      { concurrency: "unbounded" }
    )
    const refused = written.filter(Either.isLeft)
    const sizes = [...(yield* files.list(ada)), ...(yield* files.list(bob))].map(({ bytes }) => bytes ?? 0)
    expect(sizes.reduce((sum, bytes) => sum + bytes, 0)).toBeLessThanOrEqual(mib)
    expect(sizes.length).toBe(20 - refused.length)
    expect(sizes.length).toBeGreaterThan(8)
    for (const { left } of refused) expect(left.reason).toContain("no space left")
    // What is there can be replaced, and makes room when it is deleted.
    const [first] = yield* files.list(ada)
    yield* files.write(ada, first?.path ?? "", "y".repeat(100_000))
    yield* files.delete(ada, first?.path ?? "")
    yield* files.write(ada, "new", "z".repeat(90_000))
  })
)

it.scopedLive("does not let a flood of empty files through", () =>
  Effect.gen(function* () {
    const { directory, files } = yield* make()
    const root = join(directory, "agt_ada", "files")
    yield* files.write(ada, "first", "")
    yield* io(() =>
      Promise.all(Array.from({ length: AgentFiles.entryLimit - 1 }, (_, at) => writeFile(join(root, `f${at}`), "")))
    )
    expect(yield* reason(files.write(ada, "one-more", ""))).toContain("1000 files and folders already")
    yield* files.write(ada, "first", "changed")
    const small = yield* AgentFiles.make({ directory, quota: 4096 * (AgentFiles.entryLimit + 4) })
    expect(yield* reason(small.write(bob, "other", "x".repeat(40_000)))).toContain("no space left")
  })
)

it.scopedLive("clears away what a write left that was killed", () =>
  Effect.gen(function* () {
    const { directory, files } = yield* make()
    const drafts = join(directory, "agt_ada", "drafts")
    yield* io(async () => {
      await mkdir(drafts, { recursive: true })
      await writeFile(join(drafts, "half"), "hal")
    })
    yield* files.write(ada, "whole", "whole")
    expect(yield* io(() => readdir(drafts))).toStrictEqual([])
  })
)
