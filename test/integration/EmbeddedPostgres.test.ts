import { start } from "@berth/infra/embedded-postgres/EmbeddedPostgres"
import * as Postmaster from "@berth/infra/embedded-postgres/Postmaster"
import { databaseDirectory } from "../support/TemporaryDirectories.ts"
import { isProcessAlive } from "@berth/infra/process/ProcessIdentity"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Option, Redacted, Scope } from "effect"
import { mkdirSync, readFileSync, rmSync, statSync } from "node:fs"
import { createServer } from "node:net"
import { join } from "node:path"
import { Client } from "pg"

const query = (url: Redacted.Redacted, statement: string) =>
  Effect.promise(async () => {
    const client = new Client({ connectionString: Redacted.value(url) })
    await client.connect()
    try {
      return (await client.query<Record<string, unknown>>(statement)).rows
    } finally {
      await client.end()
    }
  })

/** Starts in a scope that the test closes, or leaves open to simulate a killed parent. */
const startIn = (directory: string) =>
  Effect.gen(function* () {
    const scope = yield* Scope.make()
    const close = Scope.close(scope, Exit.void)
    yield* Effect.addFinalizer(() => close)
    return { ...(yield* Scope.extend(start({ directory }), scope)), close }
  })

const command = (pid: number) => readFileSync(`/proc/${pid}/cmdline`, "utf8")

describe("EmbeddedPostgres", () => {
  it.scopedLive(
    "EmbeddedPostgres keeps data, password and port between starts, also where PGSSLMODE requires TLS",
    () =>
      Effect.gen(function* () {
        const directory = join(yield* databaseDirectory, "postgres")
        yield* Effect.acquireRelease(
          Effect.sync(() => (process.env["PGSSLMODE"] = "require")),
          () => Effect.sync(() => delete process.env["PGSSLMODE"])
        )
        const first = yield* startIn(directory)
        yield* query(first.url, "create table kept (word text)")
        yield* query(first.url, "insert into kept values ('ÄÖ')")
        yield* first.close
        assert.isFalse(isProcessAlive(first.pid))

        const second = yield* startIn(directory)
        assert.isFalse(second.adopted)
        assert.strictEqual(Redacted.value(second.url), Redacted.value(first.url))
        assert.deepStrictEqual(yield* query(second.url, "select lower(word) as word from kept"), [{ word: "äö" }])
        assert.deepStrictEqual(yield* query(second.url, "show server_version"), [{ server_version: second.version }])
        yield* second.close
      })
  )

  it.scopedLive("EmbeddedPostgres rejects a wrong password, and does not log its own", () =>
    Effect.gen(function* () {
      const directory = join(yield* databaseDirectory, "postgres")
      const running = yield* startIn(directory)
      const password = new URL(Redacted.value(running.url)).password
      assert.isAtLeast(password.length, 32)
      assert.strictEqual(statSync(join(directory, "password")).mode & 0o777, 0o600)
      assert.notInclude(command(running.pid), password)
      assert.notInclude(readFileSync(join(directory, "log"), "utf8"), password)
      const wrong = running.url.pipe(Redacted.value, (url) => url.replace(password, "postgres"), Redacted.make)
      assert.isTrue(Exit.isFailure(yield* Effect.exit(query(wrong, "select 1"))))
      yield* running.close
    })
  )

  it.scopedLive("EmbeddedPostgres adopts a server that was left running, and stops it", () =>
    Effect.gen(function* () {
      const directory = join(yield* databaseDirectory, "postgres")
      const left = yield* startIn(directory)
      const adopted = yield* startIn(directory)
      assert.deepInclude(adopted, { adopted: true, pid: left.pid, port: left.port })
      assert.deepStrictEqual(yield* query(adopted.url, "select 1 as one"), [{ one: 1 }])
      yield* adopted.close
      yield* adopted.exited
      assert.isFalse(isProcessAlive(left.pid))
    })
  )

  it.scopedLive("EmbeddedPostgres restarts on its port after a kill, with all committed data", () =>
    Effect.gen(function* () {
      const directory = join(yield* databaseDirectory, "postgres")
      const first = yield* startIn(directory)
      yield* query(first.url, "create table kept as select generate_series(1, 500)")
      process.kill(first.pid, "SIGKILL")
      yield* first.exited
      const second = yield* startIn(directory)
      assert.deepInclude(second, { adopted: false, port: first.port })
      assert.deepStrictEqual(yield* query(second.url, "select count(*)::int from kept"), [{ count: 500 }])
      yield* second.close
    })
  )

  it.scopedLive("EmbeddedPostgres starts after a kill that interrupted the creation of an unlogged table", () =>
    Effect.gen(function* () {
      const directory = join(yield* databaseDirectory, "postgres")
      const first = yield* startIn(directory)
      yield* query(first.url, "create unlogged table brief (id text)")
      const [row] = yield* query(first.url, "select pg_relation_filepath('brief') as path")
      process.kill(first.pid, "SIGKILL")
      yield* first.exited
      // The log contains the second file of the table, which the kill prevented.
      rmSync(join(directory, "cluster", `${String(row?.["path"])}_init`))
      const second = yield* startIn(directory)
      assert.deepStrictEqual(yield* query(second.url, "select count(*)::int from brief"), [{ count: 0 }])
      yield* second.close
    })
  )

  it.scopedLive("EmbeddedPostgres chooses another port when its own is in use", () =>
    Effect.gen(function* () {
      const directory = join(yield* databaseDirectory, "postgres")
      const first = yield* startIn(directory)
      yield* first.close
      yield* Effect.acquireRelease(
        Effect.async<ReturnType<typeof createServer>>((resume) => {
          const squatter = createServer()
          squatter.listen(first.port, "127.0.0.1", () => resume(Effect.succeed(squatter)))
        }),
        (squatter) => Effect.async<void>((resume) => void squatter.close(() => resume(Effect.void)))
      )
      const second = yield* startIn(directory)
      assert.notStrictEqual(second.port, first.port)
      assert.deepStrictEqual(yield* query(second.url, "select 1 as one"), [{ one: 1 }])
      yield* second.close
    })
  )

  it.scopedLive("The URL names the socket of EmbeddedPostgres, and its port where it has none", () =>
    Effect.gen(function* () {
      const directory = yield* databaseDirectory
      const address = (url: Redacted.Redacted) => query(url, "select host(inet_server_addr()) as address")
      const short = yield* startIn(join(directory, "postgres"))
      assert.deepStrictEqual(yield* address(short.url), [{ address: null }])
      yield* short.close
      // Stands for a file system without sockets.
      mkdirSync(join(directory, "postgres", "cluster", `.s.PGSQL.${short.port}`))
      const refused = yield* startIn(join(directory, "postgres"))
      assert.deepStrictEqual(yield* address(refused.url), [{ address: "127.0.0.1" }])
      yield* refused.close
      const long = yield* startIn(join(directory, "p".repeat(100), "postgres"))
      assert.deepStrictEqual(yield* address(long.url), [{ address: "127.0.0.1" }])
      yield* long.close
    })
  )

  it.scopedLive("EmbeddedPostgres reports an invalid setting", () =>
    Effect.gen(function* () {
      const directory = join(yield* databaseDirectory, "postgres")
      const failure = yield* Effect.flip(start({ directory, settings: { max_connections: "many" } }))
      assert.include(failure.message, "max_connections")
      assert.isTrue(Option.isNone(yield* Postmaster.readPostmaster(join(directory, "cluster"))))
    })
  )
})
