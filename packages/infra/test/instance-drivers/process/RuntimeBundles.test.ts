import * as RuntimeBundles from "@berth/infra/instance-drivers/process/RuntimeBundles"
import { resolveInstanceDirectory } from "@berth/infra/instance-drivers/process/InstanceDirectory"
import { expect, it } from "@effect/vitest"
import { Effect, Option } from "effect"
import { mkdir, readdir, utimes, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { temporaryDirectory } from "../../../../../test/support/TemporaryDirectories.ts"

const [old, older, newest, young] = ["aaaaaaaaaaaaaaaa", "bbbbbbbbbbbbbbbb", "cccccccccccccccc", "dddddddddddddddd"]

const furnished = Effect.gen(function* () {
  const root = yield* temporaryDirectory
  for (const digest of [old, older, newest, young])
    yield* Effect.promise(async () => {
      const at = join(root, ".bundle", digest)
      await mkdir(at, { recursive: true })
      await writeFile(join(at, "runtime.mjs"), digest)
      if (digest !== young) await utimes(at, 0, 0)
    })
  const ada = Option.getOrThrow(resolveInstanceDirectory(root, "usr_ada"))
  yield* Effect.promise(() => mkdir(ada.path))
  return { root, ada, bundles: RuntimeBundles.make(root, join(root, ".bundle", newest, "runtime.mjs")) }
})

it.scopedLive("programs that nobody runs any more go, but not one that was put there just now", () =>
  Effect.gen(function* () {
    const { ada, bundles, root } = yield* furnished
    yield* bundles.pin(ada, { digest: old, file: "" })
    yield* bundles.removeUnused
    expect((yield* Effect.promise(() => readdir(join(root, ".bundle")))).toSorted()).toStrictEqual([old, newest, young])
  })
)

it.scopedLive("an owner without a version, or whose version is gone or is no version, has the newest", () =>
  Effect.gen(function* () {
    const { ada, bundles, root } = yield* furnished
    expect(yield* bundles.findPinned(ada)).toStrictEqual(bundles.newest)
    yield* bundles.pin(ada, { digest: old, file: "" })
    expect((yield* bundles.findPinned(ada)).file).toBe(join(root, ".bundle", old, "runtime.mjs"))
    for (const text of ["", "{", `{"bundle":"../../etc"}`, `{"bundle":"eeeeeeeeeeeeeeee"}`]) {
      yield* Effect.promise(() => writeFile(ada.bundlePin, text))
      expect(yield* bundles.findPinned(ada)).toStrictEqual(bundles.newest)
    }
  })
)
