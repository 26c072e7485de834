import { ensureSecret } from "@berth/infra/crypto/GeneratedKeys"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises"
import { writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

const directory = Effect.acquireRelease(
  Effect.promise(() => mkdtemp(join(tmpdir(), "berth-keys-"))),
  (path) => Effect.promise(() => rm(path, { recursive: true, force: true }))
)

const counting = () => {
  let made = 0
  return { make: () => Redacted.make(`secret ${++made}`), count: () => made }
}

describe("ensureSecret", () => {
  it.scopedLive("ensureSecret creates a secret once, in a file that only its owner can read", () =>
    Effect.gen(function* () {
      const keys = join(yield* directory, "data", "keys")
      const { count, make } = counting()
      const [one, two] = [yield* ensureSecret(keys, "key", make), yield* ensureSecret(keys, "key", make)]
      assert.strictEqual(Redacted.value(one), "secret 1")
      assert.strictEqual(Redacted.value(two), "secret 1")
      assert.strictEqual(count(), 1)
      const mode = (path: string) => Effect.promise(async () => (await stat(path)).mode & 0o777)
      assert.strictEqual(yield* mode(join(keys, "key")), 0o600)
      assert.strictEqual(yield* mode(keys), 0o700)
    })
  )

  it.scopedLive("ensureSecret returns the same secret to racing processes and leaves no draft", () =>
    Effect.gen(function* () {
      const keys = join(yield* directory, "keys")
      const { make } = counting()
      const secrets = yield* Effect.forEach(Array.from({ length: 20 }), () => ensureSecret(keys, "key", make), {
        concurrency: "unbounded"
      })
      const [first] = secrets
      const kept = yield* Effect.promise(() => readFile(join(keys, "key"), "utf8"))
      assert.deepStrictEqual(new Set(secrets.map(Redacted.value)), new Set([kept]))
      assert.isDefined(first)
      assert.deepStrictEqual(yield* Effect.promise(() => readdir(keys)), ["key"])
    })
  )

  it.scopedLive("ensureSecret uses the secret of a process that was first", () =>
    Effect.gen(function* () {
      const keys = join(yield* directory, "keys")
      const secret = yield* ensureSecret(keys, "key", () => {
        writeFileSync(join(keys, "key"), "the other's")
        return Redacted.make("mine")
      })
      assert.strictEqual(Redacted.value(secret), "the other's")
      assert.deepStrictEqual(yield* Effect.promise(() => readdir(keys)), ["key"])
    })
  )

  it.scopedLive("ensureSecret fails for an empty file and an unusable path, without showing a secret", () =>
    Effect.gen(function* () {
      const keys = join(yield* directory, "keys")
      yield* Effect.promise(() => mkdir(keys))
      yield* Effect.promise(() => writeFile(join(keys, "empty"), "\n"))
      const { make } = counting()
      const empty = yield* Effect.flip(ensureSecret(keys, "empty", make))
      assert.include(empty.message, "the file is empty")
      yield* Effect.promise(() => writeFile(join(keys, "file"), "x"))
      yield* Effect.promise(() => chmod(join(keys, "file"), 0o600))
      const unusable = yield* Effect.flip(ensureSecret(join(keys, "file"), "key", make))
      assert.strictEqual(unusable._tag, "KeyFileUnusable")
    })
  )

  it.scopedLive("ensureSecret refuses a data directory of an unreleased version", () =>
    Effect.gen(function* () {
      const data = yield* directory
      yield* Effect.promise(() => mkdir(join(data, "instances")))
      const { make } = counting()
      const refused = yield* Effect.flip(ensureSecret(join(data, "keys"), "key", make))
      assert.strictEqual(refused._tag, "DataDirectoryOutdated")
    })
  )
})
