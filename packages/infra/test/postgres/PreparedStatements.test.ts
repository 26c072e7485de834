import * as PostgresPool from "@berth/infra/postgres/PostgresPool"
import { preparedMark } from "@berth/infra/postgres/PreparedStatements"
import { SqlClient } from "@effect/sql/SqlClient"
import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { freshDatabase } from "../../../../test/support/Databases.ts"

/** One connection, which keeps the prepared statements. */
const OneConnection = Layer.unwrapScoped(
  Effect.map(freshDatabase, (url) => PostgresPool.layer({ url, maxConnections: 1, applicationName: "test" }))
)

const prepared = Effect.flatMap(
  SqlClient,
  (sql) => sql`select statement from pg_prepared_statements order by statement`
).pipe(Effect.map((rows) => rows.map((row) => String(row["statement"]))))

layer(OneConnection, { excludeTestServices: true })("A marked statement", (it) => {
  it.effect("A marked statement is parsed once per connection, and others are not prepared", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      yield* sql`create table ports (id int primary key, name text)`
      yield* sql`insert into ports values (1, 'Bergen'), (2, 'Cork')`
      const nameOf = (id: number) =>
        Effect.map(sql`${sql.literal(preparedMark)} select name from ports where id = ${id}`, ([row]) => row?.["name"])
      assert.strictEqual(yield* nameOf(1), "Bergen")
      assert.strictEqual(yield* nameOf(2), "Cork")
      assert.strictEqual(yield* nameOf(3), undefined)
      assert.strictEqual(yield* sql.withTransaction(nameOf(1)), "Bergen")
      yield* sql`select 1`
      assert.deepStrictEqual(yield* prepared, [`${preparedMark} select name from ports where id = $1`])
    })
  )

  it.effect("A marked statement fails once after a change of a column's type, and is then prepared again", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      yield* sql`create table depths (id int primary key, metres int)`
      yield* sql`insert into depths values (1, 12)`
      const metres = Effect.map(
        sql`${sql.literal(preparedMark)} select metres from depths where id = ${1}`,
        ([row]) => row?.["metres"]
      )
      assert.strictEqual(yield* metres, 12)
      yield* sql`alter table depths add column note text`
      assert.strictEqual(yield* metres, 12)
      yield* sql`alter table depths alter column metres type text`
      assert.strictEqual((yield* Effect.flip(metres))._tag, "SqlError")
      assert.strictEqual(yield* metres, "12")
    })
  )

  it.effect("A marked statement fails once after its session is discarded, and is then prepared again", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const two = Effect.map(sql`${sql.literal(preparedMark)} select ${2}::int as two`, ([row]) => row?.["two"])
      assert.strictEqual(yield* two, 2)
      yield* sql`discard all`
      assert.strictEqual((yield* Effect.flip(two))._tag, "SqlError")
      assert.strictEqual(yield* two, 2)
    })
  )

  it.effect("A marked statement reports errors with their code and keeps the connection usable", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const error = yield* Effect.flip(sql`${sql.literal(preparedMark)} select 1 / ${0}::int`)
      assert.propertyVal(error.cause, "code", "22012")
      assert.deepStrictEqual(yield* sql`select 1 as one`, [{ one: 1 }])
    })
  )
})
