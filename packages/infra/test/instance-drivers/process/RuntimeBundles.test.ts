import * as RuntimeBundles from "@berth/infra/instance-drivers/process/RuntimeBundles"
import { resolveInstanceDirectory } from "@berth/infra/instance-drivers/process/InstanceDirectory"
import { assert, it } from "@effect/vitest"
import { Effect, Option } from "effect"
import { mkdir, readdir, utimes, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { temporaryDirectory } from "../../../../../test/support/TemporaryDirectories.ts"

const [old, older, newest, young] = ["aaaaaaaaaaaaaaaa", "bbbbbbbbbbbbbbbb", "cccccccccccccccc", "dddddddddddddddd"]

const setUp = Effect.gen(function* () {
  const root = yield* temporaryDirectory
  for (const digest of [old, older, newest, young])
    yield* Effect.promise(async () => {
      const at = join(root, ".bundle", digest)
      await mkdir(at, { recursive: true })
      await writeFile(join(at, "runtime.mjs"), digest)
      if (digest !== young) await utimes(at, 0, 0)
    })
  const ada = Option.getOrThrow(resolveInstanceDirectory(root, "usr_ada"))
  yield* Effect.promise(() => mkdir(ada.directory))
  return { root, ada, bundles: RuntimeBundles.make(root, join(root, ".bundle", newest, "runtime.mjs")) }
})

it.scopedLive("RuntimeBundles.removeUnused deletes unused versions, except recent ones", () =>
  Effect.gen(function* () {
    const { ada, bundles, root } = yield* setUp
    yield* bundles.pin(ada, { digest: old, file: "" })
    yield* bundles.removeUnused
    assert.deepStrictEqual((yield* Effect.promise(() => readdir(join(root, ".bundle")))).toSorted(), [
      old,
      newest,
      young
    ])
  })
)

it.scopedLive("RuntimeBundles.findPinned falls back to the newest version", () =>
  Effect.gen(function* () {
    const { ada, bundles, root } = yield* setUp
    assert.deepStrictEqual(yield* bundles.findPinned(ada), bundles.newest)
    yield* bundles.pin(ada, { digest: old, file: "" })
    assert.strictEqual((yield* bundles.findPinned(ada)).file, join(root, ".bundle", old, "runtime.mjs"))
    for (const text of ["", "{", `{"bundle":"../../etc"}`, `{"bundle":"eeeeeeeeeeeeeeee"}`]) {
      yield* Effect.promise(() => writeFile(ada.bundlePin, text))
      assert.deepStrictEqual(yield* bundles.findPinned(ada), bundles.newest)
    }
  })
)
