import { RuntimeEnvironment } from "@berth/api/runtime/RuntimeContract"
import { loadRuntimeSettings } from "@berth/runtime/RuntimeSettings"
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import { assert, it } from "@effect/vitest"
import { ConfigProvider, Effect, Redacted } from "effect"
import { existsSync } from "node:fs"
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { temporaryDirectory } from "../../../test/support/TemporaryDirectories.ts"

const load = (environment: Readonly<Record<string, string>>) =>
  loadRuntimeSettings.pipe(
    Effect.withConfigProvider(
      ConfigProvider.fromMap(
        new Map(
          Object.entries({
            [RuntimeEnvironment.backendUrl]: "http://10.0.0.1:4000",
            [RuntimeEnvironment.directory]: "/data/home",
            ...environment
          })
        )
      )
    ),
    Effect.provide(NodeFileSystem.layer)
  )

it.scopedLive("loadRuntimeSettings reads the token from a file once, and deletes the file", () =>
  Effect.gen(function* () {
    const file = join(yield* temporaryDirectory, "token")
    yield* Effect.promise(() => writeFile(file, "a token"))
    const environment = { [RuntimeEnvironment.tokenFile]: file, [RuntimeEnvironment.port]: "8080" }
    const settings = yield* load(environment)
    assert.strictEqual(Redacted.value(settings.token), "a token")
    assert.deepStrictEqual(settings.address, { host: "0.0.0.0", port: 8080 })
    assert.isFalse(existsSync(file))
    assert.include(JSON.stringify(yield* Effect.flip(load(environment))), RuntimeEnvironment.tokenFile)
  })
)
