import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Scope } from "effect"
import { spawnSync } from "node:child_process"
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { acquireLockFile } from "../../src/lock/LockFile.ts"

const directory = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "berth-lock-"))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true }))
)

describe("LockFile", () => {
  it.scoped("LockFile admits one holder, names it to others, and is free afterwards", () =>
    Effect.gen(function* () {
      const place = yield* directory
      const file = join(place, "lock")
      const scope = yield* Scope.make()
      yield* Scope.extend(acquireLockFile(file, place), scope)
      const refused = yield* Effect.flip(acquireLockFile(file, place))
      assert.deepInclude(refused, { _tag: "DataDirectoryLocked", pid: process.pid })
      yield* Scope.close(scope, Exit.void)
      assert.isFalse(existsSync(file))
      yield* acquireLockFile(file, place)
    })
  )

  it.scoped("LockFile breaks the lock of a process that is gone or whose number was reused", () =>
    Effect.gen(function* () {
      const place = yield* directory
      const file = join(place, "lock")
      const { pid: gone } = spawnSync(process.execPath, ["--version"])
      for (const stale of [`${gone} 1\n`, `${process.pid} another-birth\n`, "", "rubbish"]) {
        writeFileSync(file, stale)
        yield* Effect.scoped(acquireLockFile(file, place))
      }
      assert.deepStrictEqual(readdirSync(place), [])
    })
  )
})
