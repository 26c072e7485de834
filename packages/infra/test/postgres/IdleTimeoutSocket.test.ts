import { isDatabaseOutage } from "@berth/infra/postgres/SqlErrors"
import * as PostgresPool from "@berth/infra/postgres/PostgresPool"
import { SqlClient } from "@effect/sql/SqlClient"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { makeTcpProxy } from "../../../../test/support/TcpProxy.ts"
import { freshDatabase } from "../../../../test/support/Databases.ts"

describe("A pool whose database stops responding", () => {
  it.scopedLive("A pool whose database stops responding fails its statements, and recovers with the database", () =>
    Effect.gen(function* () {
      const door = yield* makeTcpProxy(yield* freshDatabase)
      const pool = PostgresPool.layer({
        url: door.url,
        maxConnections: 2,
        applicationName: "test",
        idleTimeout: "3 seconds"
      })
      yield* Effect.gen(function* () {
        const sql = yield* SqlClient
        const pid = Effect.map(sql`select pg_backend_pid() as pid`, ([row]) => row?.["pid"])
        const first = yield* pid
        yield* Effect.sleep("4 seconds")
        assert.strictEqual(yield* pid, first)
        yield* door.dropTraffic
        const error = yield* Effect.flip(sql`select 1`)
        assert.isTrue(isDatabaseOutage(error.cause), String(error.cause))
        // New connections get no response either.
        const unanswered = yield* Effect.flip(sql`select 1`)
        assert.isTrue(isDatabaseOutage(unanswered.cause), String(unanswered.cause))
        yield* door.acceptConnections
        assert.notStrictEqual(yield* pid, first)
      }).pipe(Effect.provide(pool))
    })
  )
})
