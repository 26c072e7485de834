import { isConnectionRefused } from "@berth/infra/runtime/ConnectionRefusal"
import * as UnixSocketClient from "@berth/infra/runtime/UnixSocketClient"
import { HttpClient } from "@effect/platform"
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { temporaryDirectory } from "../../../../test/support/TemporaryDirectories.ts"

const get = (path: string) =>
  HttpClient.get(`${UnixSocketClient.makeSocketEndpoint(path)}/`).pipe(
    Effect.flip,
    Effect.timeout("5 seconds"),
    Effect.provide(UnixSocketClient.layer)
  )

it.scopedLive("UnixSocketClient fails for a socket that is missing, as for one without a listener", () =>
  Effect.gen(function* () {
    assert.isTrue(isConnectionRefused(yield* get(join(yield* temporaryDirectory, "s"))))
  })
)

it.scopedLive("UnixSocketClient does not connect to a file in place of the socket", () =>
  Effect.gen(function* () {
    const path = join(yield* temporaryDirectory, "s")
    yield* Effect.promise(() => writeFile(path, ""))
    const error = yield* get(path)
    assert.include(String(error.cause), "the socket was replaced")
    assert.isFalse(isConnectionRefused(error))
  })
)
