import { RuntimeAddress, runtimeAddressFile } from "@berth/api/runtime/RuntimeContract"
import * as AddressFile from "@berth/runtime/http/AddressFile"
import { NodeFileSystem, NodeHttpServer } from "@effect/platform-node"
import { assert, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Layer, Logger, Schema, Scope } from "effect"
import { existsSync } from "node:fs"
import { readdir, readFile, rm, stat, writeFile } from "node:fs/promises"
import { createServer } from "node:http"
import { join } from "node:path"
import { temporaryDirectory } from "../../../../test/support/TemporaryDirectories.ts"

const decode = Schema.decodeUnknownSync(Schema.parseJson(RuntimeAddress))

/** A published address with a short check interval. */
const make = Effect.gen(function* () {
  const directory = yield* temporaryDirectory
  const lost = yield* Deferred.make<never, AddressFile.AddressFileLost>()
  const scope = yield* Scope.fork(yield* Effect.scope, { _tag: "Sequential" })
  const options = {
    directory,
    lost,
    pid: 7,
    runtimeVersion: "1.2.3",
    startedAt: 42,
    checkInterval: "20 millis" as const
  }
  const socket = join(yield* temporaryDirectory, "s")
  yield* Layer.buildWithScope(
    AddressFile.layer(options).pipe(
      Layer.provide(NodeHttpServer.layer(() => createServer(), { path: socket })),
      Layer.provide(NodeFileSystem.layer)
    ),
    scope
  )
  return { directory, file: join(directory, runtimeAddressFile), lost, socket, end: Scope.close(scope, Exit.void) }
})

const test = <E>(name: string, body: () => Effect.Effect<void, E, Scope.Scope>) =>
  it.scopedLive(name, () => Effect.provide(body(), Logger.remove(Logger.defaultLogger)))

test("AddressFile contains the runtime's address until its end", () =>
  Effect.gen(function* () {
    const { directory, end, file, socket } = yield* make
    assert.deepStrictEqual(yield* Effect.promise(() => readdir(directory)), [runtimeAddressFile])
    const published = decode(yield* Effect.promise(() => readFile(file, "utf8")))
    assert.deepStrictEqual(published, { pid: 7, socket, runtimeVersion: "1.2.3", startedAt: 42 })
    const { mode } = yield* Effect.promise(() => stat(socket))
    assert.strictEqual((mode & 0o777).toString(8), "600")
    yield* end
    assert.isFalse(existsSync(file))
  }))

test("The address file reports its deletion", () =>
  Effect.gen(function* () {
    const { directory, end, lost } = yield* make
    yield* Effect.promise(() => rm(directory, { recursive: true }))
    const failure = yield* Effect.flip(Deferred.await(lost)).pipe(Effect.timeout("30 seconds"))
    assert.strictEqual(failure._tag, "AddressFileLost")
    yield* end
  }))

test("AddressFile keeps the address of a runtime that has replaced it", () =>
  Effect.gen(function* () {
    const { end, file, lost } = yield* make
    yield* Effect.promise(() => writeFile(file, "another's"))
    yield* Effect.flip(Deferred.await(lost)).pipe(Effect.timeout("30 seconds"))
    yield* end
    assert.strictEqual(yield* Effect.promise(() => readFile(file, "utf8")), "another's")
  }))
