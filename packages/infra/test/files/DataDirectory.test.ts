import { ensureOwnDirectory } from "@berth/infra/instance-drivers/HostFiles"
import { prepareDataDirectory } from "@berth/infra/files/DataDirectory"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"

const temporary = Effect.acquireRelease(
  Effect.promise(() => mkdtemp(join(tmpdir(), "berth-data-"))),
  (path) => Effect.promise(() => rm(path, { recursive: true, force: true }))
)

describe("prepareDataDirectory", () => {
  it.scopedLive(
    "prepareDataDirectory marks a new directory with its layout, also when several programs start at once, and accepts it later",
    () =>
      Effect.gen(function* () {
        const directory = join(yield* temporary, "data")
        const prepareAndUse = Effect.zipRight(
          prepareDataDirectory(directory),
          Effect.promise(() => mkdir(join(directory, "instances"), { recursive: true }))
        )
        yield* Effect.replicateEffect(prepareAndUse, 20, { concurrency: "unbounded" })
        yield* prepareAndUse
        assert.deepStrictEqual(yield* Effect.promise(() => readdir(directory)), ["instances", "layout"])
        assert.strictEqual(yield* Effect.promise(() => readFile(join(directory, "layout"), "utf8")), "1\n")
      })
  )

  it.scopedLive(
    "prepareDataDirectory and ensureOwnDirectory make directories that accounts can traverse with any umask",
    () =>
      Effect.gen(function* () {
        const [data, sockets] = [join(yield* temporary, "data"), join(yield* temporary, "sockets")]
        yield* Effect.acquireUseRelease(
          Effect.sync(() => process.umask(0o077)),
          () =>
            Effect.zipRight(
              prepareDataDirectory(data),
              Effect.promise(() => ensureOwnDirectory(sockets))
            ),
          (umask) => Effect.sync(() => process.umask(umask))
        )
        const modeOf = (path: string) => Effect.promise(async () => (await stat(path)).mode & 0o777)
        assert.strictEqual(yield* modeOf(data), process.getuid?.() === 0 ? 0o711 : 0o700)
        assert.strictEqual(yield* modeOf(sockets), 0o711)
      })
  )

  it.scopedLive("prepareDataDirectory accepts an existing directory with other files in it", () =>
    Effect.gen(function* () {
      const directory = yield* temporary
      yield* Effect.promise(() => writeFile(join(directory, "notes.txt"), "mine"))
      yield* prepareDataDirectory(directory)
    })
  )

  for (const entry of ["postgres", "instances"])
    it.scopedLive(`prepareDataDirectory rejects a directory of an unreleased version with ${entry}, with advice`, () =>
      Effect.gen(function* () {
        const directory = yield* temporary
        yield* Effect.promise(() => mkdir(join(directory, entry)))
        const error = yield* Effect.flip(prepareDataDirectory(directory))
        assert.strictEqual(error._tag, "DataDirectoryOutdated")
        assert.include(error.message, `${directory} was made by an older version and cannot be upgraded. Remove it`)
        assert.deepStrictEqual(yield* Effect.promise(() => readdir(directory)), [entry])
      })
    )

  it.scopedLive("prepareDataDirectory refuses a directory with a layout that the program does not know", () =>
    Effect.gen(function* () {
      const directory = yield* temporary
      yield* Effect.promise(() => writeFile(join(directory, "layout"), "2\n"))
      const error = yield* Effect.flip(prepareDataDirectory(directory))
      assert.deepInclude(error, { _tag: "DataDirectoryTooNew", layout: "2" })
    })
  )

  it.scopedLive("prepareDataDirectory refuses a path that is a file", () =>
    Effect.gen(function* () {
      const file = join(yield* temporary, "file")
      yield* Effect.promise(() => writeFile(file, ""))
      assert.strictEqual((yield* Effect.flip(prepareDataDirectory(file)))._tag, "DataDirectoryUnusable")
    })
  )
})
