import * as AssetFiles from "@berth/infra/files/AssetFiles"
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"

const here = dirname(fileURLToPath(import.meta.url))

it.effect("readAssetFiles returns the files of a directory by name", () =>
  Effect.gen(function* () {
    const files = yield* AssetFiles.readAssets(here, ["AssetFiles.test.ts"])
    const text = new TextDecoder().decode(files.get("AssetFiles.test.ts"))
    assert.include(text, "files of a directory are read whole")
  })
)

it.effect("A missing file is named in the error", () =>
  Effect.gen(function* () {
    const error = yield* Effect.flip(AssetFiles.readAssets(here, ["AssetFiles.test.ts", "none.js"]))
    assert.strictEqual(error.file, join(here, "none.js"))
    assert.include(error.message, "which the build makes, cannot be read")
  })
)
