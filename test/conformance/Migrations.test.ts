import { migrate, migrations } from "@berth/infra/postgres/Migrations"
import * as Postgres from "@berth/infra/postgres/Postgres"
import { SqlClient } from "@effect/sql/SqlClient"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import { readdirSync } from "node:fs"
import { join } from "node:path"
import { freshDatabase } from "../support/Databases.ts"

const folder = join(import.meta.dirname, "../../packages/infra/src/postgres/migrations")

describe("Migrations", () => {
  it("registers every file of the folder, numbered from 1 without a gap", () => {
    const files = readdirSync(folder).sort()
    assert.deepStrictEqual(
      Object.keys(migrations).map((name) => `${name}.ts`),
      files
    )
    assert.deepStrictEqual(
      files.map((file) => Number(file.slice(0, 4))),
      files.map((_, index) => index + 1)
    )
  })

  it.scopedLive("may be run by several processes at once on an empty database, and again later", () =>
    Effect.gen(function* () {
      const url = yield* freshDatabase
      const pools = yield* Effect.all(
        Array.from({ length: 5 }, (_, n) =>
          Layer.build(Layer.fresh(Postgres.layer({ url, maxConnections: 1, applicationName: `migrator ${n}` })))
        )
      )
      yield* Effect.forEach(pools, (pool) => Effect.provide(migrate, pool), { concurrency: "unbounded" })
      yield* Effect.forEach(pools, (pool) => Effect.provide(migrate, pool), { concurrency: "unbounded" })
      const [pool] = pools
      const ran = yield* Effect.flatMap(
        SqlClient,
        (sql) => sql`select migration_id::int as id from effect_sql_migrations order by 1`
      ).pipe(Effect.provide(pool ?? assert.fail("no pool")))
      assert.deepStrictEqual(
        ran.map(({ id }) => id),
        Object.keys(migrations).map((_, index) => index + 1)
      )
    })
  )

  it.scopedLive("tells at once that a database does not exist, and after its time that none answers", () =>
    Effect.gen(function* () {
      const url = new URL(Redacted.value(yield* freshDatabase))
      const failed = (address: string) =>
        Layer.build(
          Postgres.layer({
            url: Redacted.make(address),
            maxConnections: 1,
            applicationName: "test",
            startWithin: "300 millis"
          })
        ).pipe(Effect.flip)
      url.pathname = "/nowhere"
      assert.strictEqual((yield* failed(url.href)).reason, "3D000")
      assert.strictEqual((yield* failed("postgres://postgres@127.0.0.1:1/postgres")).reason, "ECONNREFUSED")
    })
  )
})
