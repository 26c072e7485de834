import { start } from "@berth/infra/embedded-postgres/EmbeddedPostgres"
import * as Postmaster from "@berth/infra/embedded-postgres/Postmaster"
import { temporaryDirectory } from "../support/TemporaryDirectories.ts"
import { isProcessAlive } from "@berth/infra/process/ProcessIdentity"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Exit, Option, Redacted, Scope } from "effect"
import { readFileSync, statSync } from "node:fs"
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

/** A start in a scope that the test itself closes, or leaves open to play a parent that was killed. */
const startIn = (directory: string) =>
  Effect.gen(function* () {
    const scope = yield* Scope.make()
    const close = Scope.close(scope, Exit.void)
    yield* Effect.addFinalizer(() => close)
    return { ...(yield* Scope.extend(start({ directory }), scope)), close }
  })

const command = (pid: number) => readFileSync(`/proc/${pid}/cmdline`, "utf8")

describe("EmbeddedPostgres", () => {
  it.scopedLive("keeps data, password and port between starts", () =>
    Effect.gen(function* () {
      const directory = join(yield* temporaryDirectory, "postgres")
      const first = yield* startIn(directory)
      yield* query(first.url, "create table kept (word text)")
      yield* query(first.url, "insert into kept values ('ÄÖ')")
      yield* first.close
      expect(isProcessAlive(first.pid)).toBe(false)

      const second = yield* startIn(directory)
      expect(second.adopted).toBe(false)
      expect(Redacted.value(second.url)).toBe(Redacted.value(first.url))
      expect(yield* query(second.url, "select lower(word) as word from kept")).toEqual([{ word: "äö" }])
      expect(yield* query(second.url, "show server_version")).toEqual([{ server_version: second.version }])
      yield* second.close
    })
  )

  it.scopedLive("keeps its password to itself", () =>
    Effect.gen(function* () {
      const directory = join(yield* temporaryDirectory, "postgres")
      const running = yield* startIn(directory)
      const password = new URL(Redacted.value(running.url)).password
      expect(password.length).toBeGreaterThanOrEqual(32)
      expect(statSync(join(directory, "password")).mode & 0o777).toBe(0o600)
      expect(command(running.pid)).not.toContain(password)
      expect(readFileSync(join(directory, "log"), "utf8")).not.toContain(password)
      const wrong = running.url.pipe(Redacted.value, (url) => url.replace(password, "postgres"), Redacted.make)
      expect(Exit.isFailure(yield* Effect.exit(query(wrong, "select 1")))).toBe(true)
      yield* running.close
    })
  )

  it.scopedLive("adopts a server that was left behind, and stops it", () =>
    Effect.gen(function* () {
      const directory = join(yield* temporaryDirectory, "postgres")
      const left = yield* startIn(directory)
      const adopted = yield* startIn(directory)
      expect(adopted).toMatchObject({ adopted: true, pid: left.pid, port: left.port })
      expect(yield* query(adopted.url, "select 1 as one")).toEqual([{ one: 1 }])
      yield* adopted.close
      yield* adopted.exited
      expect(isProcessAlive(left.pid)).toBe(false)
    })
  )

  it.scopedLive("comes back on its port after a kill, with everything that was committed", () =>
    Effect.gen(function* () {
      const directory = join(yield* temporaryDirectory, "postgres")
      const first = yield* startIn(directory)
      yield* query(first.url, "create table kept as select generate_series(1, 500)")
      process.kill(first.pid, "SIGKILL")
      yield* first.exited
      const second = yield* startIn(directory)
      expect(second).toMatchObject({ adopted: false, port: first.port })
      expect(yield* query(second.url, "select count(*)::int from kept")).toEqual([{ count: 500 }])
      yield* second.close
    })
  )

  it.scopedLive("takes another port when somebody else has its own", () =>
    Effect.gen(function* () {
      const directory = join(yield* temporaryDirectory, "postgres")
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
      expect(second.port).not.toBe(first.port)
      expect(yield* query(second.url, "select 1 as one")).toEqual([{ one: 1 }])
      yield* second.close
    })
  )

  it.scopedLive("says what is wrong when a setting is", () =>
    Effect.gen(function* () {
      const directory = join(yield* temporaryDirectory, "postgres")
      const failure = yield* Effect.flip(start({ directory, settings: { max_connections: "many" } }))
      expect(failure.message).toContain("max_connections")
      expect(Option.isNone(yield* Postmaster.readPostmaster(join(directory, "cluster")))).toBe(true)
    })
  )
})
