import * as AgentFiles from "@berth/runtime/skills/files/AgentFiles"
import { assert, it } from "@effect/vitest"
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

it.scopedLive("AgentFiles stores files by agent", () =>
  Effect.gen(function* () {
    const { directory, files } = yield* make()
    assert.deepStrictEqual(yield* files.list(ada), [])
    yield* files.write(ada, "notes/one.md", "first ☺")
    yield* files.write(ada, "./notes//one.md", "second ☺")
    yield* files.write(ada, "two", "")
    assert.strictEqual(yield* files.read(ada, "notes/one.md"), "second ☺")
    assert.deepStrictEqual(yield* files.list(ada), [
      { path: "notes", bytes: null },
      { path: "notes/one.md", bytes: 10 },
      { path: "two", bytes: 0 }
    ])
    assert.deepStrictEqual(yield* files.list(bob), [])
    assert.strictEqual(yield* reason(files.read(bob, "two")), "There is no such file.")
    // Confined to the agents' directory.
    assert.strictEqual(
      yield* io(() => readFile(join(directory, "agt_ada", "files", "notes", "one.md"), "utf8")),
      "second ☺"
    )
    assert.deepStrictEqual(yield* io(() => readdir(join(directory, "agt_ada", "drafts"))), [])
    yield* files.delete(ada, "notes/one.md")
    yield* files.delete(ada, "notes")
    assert.deepStrictEqual(yield* files.list(ada), [{ path: "two", bytes: 0 }])
  })
)

it.scopedLive("AgentFiles explains failures", () =>
  Effect.gen(function* () {
    const { files } = yield* make()
    yield* files.write(ada, "folder/file", "text")
    assert.strictEqual(yield* reason(files.read(ada, "nothing")), "There is no such file.")
    assert.strictEqual(yield* reason(files.read(ada, "folder")), "That is a folder, not a file.")
    assert.strictEqual(
      yield* reason(files.read(ada, "folder/file/more")),
      "A part of the path is a file, not a folder."
    )
    assert.strictEqual(yield* reason(files.write(ada, "folder", "text")), "That is a folder, not a file.")
    assert.strictEqual(
      yield* reason(files.write(ada, "folder/file/more", "text")),
      "A part of the path is a file, not a folder."
    )
    assert.strictEqual(yield* reason(files.delete(ada, "nothing")), "There is no such file.")
    assert.strictEqual(yield* reason(files.delete(ada, "folder")), "The folder is not empty.")
    assert.include(yield* reason(files.write(ada, "../out", "text")), "..")
    assert.include(yield* reason(files.list(AgentId.make("../.."))), "cannot have files")
    assert.include(yield* reason(files.write(AgentId.make("a/b"), "x", "text")), "cannot have files")
    assert.strictEqual(yield* files.read(ada, "folder/file"), "text")
  })
)

it.scopedLive("AgentFiles follows no links anywhere in a path", () =>
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
      assert.include(yield* reason(files.read(ada, path)), "links are not followed")
    assert.include(yield* reason(files.write(ada, "folder/new", "x")), "links are not followed")
    assert.include(yield* reason(files.delete(ada, "folder/secret")), "links are not followed")
    // Writing replaces the link itself, deleting removes it.
    yield* files.write(ada, "file", "mine")
    yield* files.delete(ada, "folder")
    assert.deepStrictEqual(yield* io(() => readdir(outside)), ["secret"])
    assert.strictEqual(yield* io(() => readFile(join(outside, "secret"), "utf8")), "secret")
    // Links are not followed either.
    yield* io(() => symlink(outside, join(root, "again")))
    assert.deepStrictEqual(
      (yield* files.list(ada)).map(({ path }) => path),
      ["again", "file", "own"]
    )
  })
)

it.scopedLive("AgentFiles reads text only, and files of 1 MiB at most", () =>
  Effect.gen(function* () {
    const { directory, files } = yield* make()
    yield* files.write(ada, "full", "x".repeat(mib))
    assert.strictEqual((yield* files.read(ada, "full")).length, mib)
    assert.include(yield* reason(files.write(ada, "full", "x".repeat(mib + 1))), "1 MiB")
    assert.include(yield* reason(files.write(ada, "new", "☺".repeat(mib / 2))), "1 MiB")
    yield* io(() => writeFile(join(directory, "agt_ada", "files", "image"), Buffer.from([0x89, 0x50, 0xff])))
    yield* io(() => writeFile(join(directory, "agt_ada", "files", "huge"), Buffer.alloc(mib + 1)))
    assert.strictEqual(yield* reason(files.read(ada, "image")), "The file is not text.")
    assert.include(yield* reason(files.read(ada, "huge")), "larger than 1 MiB")
  })
)

it.scopedLive("AgentFiles stays within the quota, also when many write at once", () =>
  Effect.gen(function* () {
    const { files } = yield* make(mib)
    const written = yield* Effect.forEach(
      Array.from({ length: 20 }),
      (_, at) => Effect.either(files.write(at % 2 === 0 ? ada : bob, `file-${at}`, "x".repeat(100_000))),
      { concurrency: "unbounded" }
    )
    const refused = written.filter(Either.isLeft)
    const sizes = [...(yield* files.list(ada)), ...(yield* files.list(bob))].map(({ bytes }) => bytes ?? 0)
    assert.isAtMost(
      sizes.reduce((sum, bytes) => sum + bytes, 0),
      mib
    )
    assert.strictEqual(sizes.length, 20 - refused.length)
    assert.isAbove(sizes.length, 8)
    for (const { left } of refused) assert.include(left.reason, "no space left")
    // Existing files can be replaced; deletion frees space.
    const [first] = yield* files.list(ada)
    yield* files.write(ada, first?.path ?? "", "y".repeat(100_000))
    yield* files.delete(ada, first?.path ?? "")
    yield* files.write(ada, "new", "z".repeat(90_000))
  })
)

it.scopedLive("AgentFiles limits the number of empty files", () =>
  Effect.gen(function* () {
    const { directory, files } = yield* make()
    const root = join(directory, "agt_ada", "files")
    yield* files.write(ada, "first", "")
    yield* io(() =>
      Promise.all(Array.from({ length: AgentFiles.entryLimit - 1 }, (_, at) => writeFile(join(root, `f${at}`), "")))
    )
    assert.include(yield* reason(files.write(ada, "one-more", "")), "1000 files and folders already")
    yield* files.write(ada, "first", "changed")
    const small = yield* AgentFiles.make({ directory, quota: 4096 * (AgentFiles.entryLimit + 4) })
    assert.include(yield* reason(small.write(bob, "other", "x".repeat(40_000))), "no space left")
  })
)

it.scopedLive("AgentFiles removes leftovers of a killed write", () =>
  Effect.gen(function* () {
    const { directory, files } = yield* make()
    const drafts = join(directory, "agt_ada", "drafts")
    yield* io(async () => {
      await mkdir(drafts, { recursive: true })
      await writeFile(join(drafts, "half"), "hal")
    })
    yield* files.write(ada, "whole", "whole")
    assert.deepStrictEqual(yield* io(() => readdir(drafts)), [])
  })
)
