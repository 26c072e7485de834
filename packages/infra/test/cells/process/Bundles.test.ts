import * as Bundles from "@berth/infra/cells/process/Bundles"
import { cellPlace } from "@berth/infra/cells/process/CellPlace"
import { expect, it } from "@effect/vitest"
import { Effect, Option } from "effect"
import { mkdir, readdir, utimes, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { temporaryDirectory } from "../../../../../test/support/Workplace.ts"

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
  const ada = Option.getOrThrow(cellPlace(root, "usr_ada"))
  yield* Effect.promise(() => mkdir(ada.directory))
  return { root, ada, bundles: Bundles.make(root, join(root, ".bundle", newest, "runtime.mjs")) }
})

it.scopedLive("programs that nobody runs any more go, but not one that was put there just now", () =>
  Effect.gen(function* () {
    const { ada, bundles, root } = yield* furnished
    yield* bundles.keep(ada, { digest: old, file: "" })
    yield* bundles.sweep
    expect((yield* Effect.promise(() => readdir(join(root, ".bundle")))).toSorted()).toStrictEqual([old, newest, young])
  })
)

it.scopedLive("an owner without a version, or whose version is gone or is no version, has the newest", () =>
  Effect.gen(function* () {
    const { ada, bundles, root } = yield* furnished
    expect(yield* bundles.kept(ada)).toStrictEqual(bundles.newest)
    yield* bundles.keep(ada, { digest: old, file: "" })
    expect((yield* bundles.kept(ada)).file).toBe(join(root, ".bundle", old, "runtime.mjs"))
    for (const text of ["", "{", `{"bundle":"../../etc"}`, `{"bundle":"eeeeeeeeeeeeeeee"}`]) {
      yield* Effect.promise(() => writeFile(ada.pin, text))
      expect(yield* bundles.kept(ada)).toStrictEqual(bundles.newest)
    }
  })
)
