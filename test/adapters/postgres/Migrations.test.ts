import { layerMigrated, migrate, migrations } from "@berth/infra/postgres/Migrations"
import { sha256Of } from "@berth/infra/postgres/PendingMigrations"
import * as PostgresPool from "@berth/infra/postgres/PostgresPool"
import { SqlClient } from "@effect/sql/SqlClient"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import { readdirSync } from "node:fs"
import { join } from "node:path"
import { freshDatabase, freshDatabaseEncoded } from "../../support/Databases.ts"
import { migratedDatabase } from "../../support/MigratedDatabase.ts"
import { sql } from "../../support/Sql.ts"

const folder = join(import.meta.dirname, "../../../packages/infra/src/postgres/migrations")

/** Hashes of the released migrations. Append-only: programs do not start on a database with a changed one. */
const pinned: Readonly<Record<number, string>> = {
  1: "b5b027621426cc2aff0aae8e2295db265a1e74b3f1dc7a6235456ecee1301e01",
  2: "8d2e02c2fe71c8535f0484fe133c6c0af7de73959d395cd1b71f71fffd972795",
  3: "29b51f962b2d56033bd881fd59ae6bebb97989faabc9ce70696e3d7d35d48b45",
  4: "3e5310abb9fe9f4b837dcc7d22fd3df96945b9200c568da49c2599b2e924281d",
  5: "55f999d38ad91f0d6ed7a052a0cb94630f64d720a5fe2d9efc921abbc0ab4796",
  6: "230deb24d903743556d8a5756c538978436a198b3ce50409d1e5fe54f9129e57",
  7: "37341ab93225f1bb24dbd9f3d1531da5ecebf875cabc272111c073326f298407",
  8: "aa6f6e3540507aca0e1d0a043c50415d0bfd5902e9633770ae65edb8a0a7e725",
  9: "6be31fb517385f984379a1150cef6d2048549971be90413f1a7f98edd795c2c0",
  10: "32c17afd57c4b7af38457112a00c7c696304aab3d66cf4dc23b1f20276bacf0a",
  11: "88aa148b679b0bd5200af304da3da30f59e0d2dc0277f9bb748e44f3ff916e6d",
  12: "8b1fb1ec3d5f26da37ddba2d15031bcc21978b212dc7e93e8951aa3f377cc5e3",
  13: "fb22441e595ef38c78b2c7717297b1c1f6cb0c06b5cf460a782124772b0d3aec",
  14: "2dcc01ce0bdde0f4bf2581a761550bd06e630962e6f6785b7d0cfd71b1cb4771",
  15: "f60a07600d250cdc64a2e36bf67dc3bbf9decd38e2d10ddb1545792432ef4942",
  16: "3d90b89861adfc33fa31aea24aae508ff6a3fc7c2174745c96e40de29133151d",
  17: "75be4048bf11a36ff61fd4b87a4e463570ce5a55f537fe7568553fd0b7b9570a",
  18: "b6cf34cfccf9a9a11d8ffac56b74f63e14d5ced64f3cf38872f2ac2bc90d285b",
  19: "0d1cfbbb78d4d2df6e668a9b3ceb177a9a7c4a1875e10fec01aea406c2ff37ab",
  20: "2dfe0e156bdeb37e782f934d411dafa5d9024d1a1eda8d24b5bc0c3271659592",
  21: "a606be4445fc54762244895853e00a9e7ac29c2b38f00c8fecfc2857e3c5b801",
  22: "023e06b2a374f3b2ca0670e68e622b89e6305d7e9cd6c6f71020065bb4497b7b",
  23: "7834be197e3aad8aa2662184d8439fb6cd83a4c2c18ba3942e6a80e56c9abbff",
  24: "f4bb0487f7793da58dfd3fdb836d1d0c95e0823fbf076827d347debfa166f101",
  25: "8f4a234f25ce60269908ef77fe17a748adf480fb4faef1d1a15b700dcd88e69a",
  26: "d3fd389ff483712f3b28de12c236515a6cae44570636336b147817f8399dcf9d",
  27: "11c8dedeb72abd01de51fb55c92d0a4016ad5c23d7a51654e47f425258d3eb03",
  28: "b286394dd53e740b2c3efe16a8035f33d0718bae699c85ef11aff794667672fc",
  29: "2e36364edf0fdb9ad4a28ea98eade1df269cdad5f8d9b24fd39a4fd415a425b8",
  30: "6209b7a6679be3c64853aba65d4f8968a3ac8577213080e3e74914dbf85df4e3",
  31: "c52bbc49289bd5bdf9e38bc3337d8d4708fb1c481012b4e11dfb353b4e708345",
  32: "86ffd3cc17109917de19e156adefd44388b87d0cde94d9be3fcd22060dc29e14"
}

const options = (url: Redacted.Redacted) => ({ url, maxConnections: 1, applicationName: "test" })

const pool = (url: Redacted.Redacted) => Layer.build(Layer.fresh(PostgresPool.layer(options(url))))

/** Changes a database and returns the error of a program that starts on it. */
const refusalAfter = (url: Redacted.Redacted, change: (sql: SqlClient) => Effect.Effect<unknown, unknown>) =>
  Effect.gen(function* () {
    const context = yield* pool(url)
    yield* Effect.flatMap(SqlClient, change).pipe(Effect.provide(context), Effect.orDie)
    return yield* Effect.flip(Layer.build(layerMigrated(options(url))))
  })

const tablesOf = (url: Redacted.Redacted) =>
  Effect.flatMap(pool(url), (context) =>
    sql`select tablename from pg_tables where schemaname = 'public' order by 1`.pipe(Effect.provide(context))
  )

describe("Migrations", () => {
  it("The list of migrations has every file of the folder, numbered from 1 without a gap", () => {
    const files = readdirSync(folder).sort()
    assert.deepStrictEqual(
      migrations.map(({ file }) => file),
      files
    )
    assert.deepStrictEqual(
      migrations.map(({ file, id }) => [id, Number(file.slice(0, 4))]),
      files.map((_, index) => [index + 1, index + 1])
    )
  })

  it("The migrations have their pinned hashes, since released migrations never change", () => {
    assert.deepStrictEqual(
      Object.fromEntries(migrations.map((migration) => [migration.id, sha256Of(migration)])),
      pinned
    )
  })

  it.scopedLive("Migrations.migrate may run in several processes at once on an empty database, and again later", () =>
    Effect.gen(function* () {
      const url = yield* freshDatabase
      const pools = yield* Effect.replicateEffect(pool(url), 5)
      yield* Effect.forEach(pools, (context) => Effect.provide(migrate, context), { concurrency: "unbounded" })
      yield* Effect.forEach(pools, (context) => Effect.provide(migrate, context), { concurrency: "unbounded" })
      const rows = yield* sql`select id, file, sha256 from schema_migrations order by id`.pipe(
        Effect.provide(yield* pool(url))
      )
      assert.deepStrictEqual(
        rows,
        migrations.map((migration) => ({ id: migration.id, file: migration.file, sha256: sha256Of(migration) }))
      )
    })
  )

  it.scopedLive("Migrations.migrate rejects an applied migration with another hash, by its id and file", () =>
    Effect.gen(function* () {
      const error = yield* refusalAfter(
        yield* migratedDatabase,
        (sql) => sql`update schema_migrations set sha256 = 'another' where id = 1`
      )
      assert.deepInclude(error, { _tag: "MigrationChanged", id: 1, file: "0001_baseline.ts" })
    })
  )

  it.scopedLive("Migrations.migrate rejects a database that a newer program has migrated", () =>
    Effect.gen(function* () {
      const id = migrations.length + 1
      const error = yield* refusalAfter(
        yield* migratedDatabase,
        (sql) => sql`insert into schema_migrations (id, file, sha256) values (${id}, 'later.ts', 'hash')`
      )
      assert.deepInclude(error, { _tag: "SchemaTooNew", id, file: "later.ts" })
    })
  )

  it.scopedLive("Migrations.migrate rejects a schema of an unreleased version with advice, and changes nothing", () =>
    Effect.gen(function* () {
      const url = yield* freshDatabase
      const error = yield* refusalAfter(url, (sql) => sql`create table effect_sql_migrations (migration_id integer)`)
      assert.deepInclude(error, { _tag: "SchemaOutdated" })
      assert.match(error.message, /Drop the database .* DATABASE_URL .* remove the data directory given by DATA_DIR/)
      assert.deepStrictEqual(yield* tablesOf(url), [{ tablename: "effect_sql_migrations" }])
    })
  )

  for (const encoding of ["LATIN1", "SQL_ASCII"] as const)
    it.scopedLive(`Migrations.migrate rejects a database with the encoding ${encoding}`, () =>
      Effect.gen(function* () {
        const url = yield* freshDatabaseEncoded(encoding)
        const error = yield* refusalAfter(url, () => Effect.void)
        assert.deepInclude(error, { _tag: "DatabaseEncodingUnsupported", encoding })
        assert.deepStrictEqual(yield* tablesOf(url), [])
      })
    )

  it.scopedLive(
    "Postgres.layer fails at once when the database does not exist, and after startWithin when none answers",
    () =>
      Effect.gen(function* () {
        const url = new URL(Redacted.value(yield* freshDatabase))
        const failed = (address: string) =>
          Layer.build(PostgresPool.layer({ ...options(Redacted.make(address)), startTimeout: "300 millis" })).pipe(
            Effect.flip
          )
        url.pathname = "/nowhere"
        const missing = yield* failed(url.href)
        assert.deepInclude(missing, { _tag: "DatabaseAccessDenied", reason: "3D000" })
        assert.match(missing.message, /^DATABASE_URL: PostgreSQL at 127.0.0.1:\d+ .*"nowhere".*create the database/)
        assert.strictEqual((yield* failed("postgres://postgres@127.0.0.1:1/postgres")).reason, "ECONNREFUSED")
      })
  )
})
