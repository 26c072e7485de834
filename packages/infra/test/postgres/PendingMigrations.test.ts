import { type Migration, pendingMigrations, sha256Of } from "@berth/infra/postgres/PendingMigrations"
import { MigrationChanged, SchemaTooNew } from "@berth/infra/postgres/SchemaErrors"
import { assert, describe, it } from "@effect/vitest"
import { Either } from "effect"

const one: Migration = { id: 1, file: "0001_one.ts", sql: "create table one ()" }
const two: Migration = { id: 2, file: "0002_two.ts", sql: "create table two ()" }

const applied = (migration: Migration) => ({ ...migration, sha256: sha256Of(migration) })

describe("pendingMigrations", () => {
  it("pendingMigrations returns the migrations that are not applied, in order", () => {
    assert.deepStrictEqual(pendingMigrations([one, two], []), Either.right([one, two]))
    assert.deepStrictEqual(pendingMigrations([one, two], [applied(one)]), Either.right([two]))
    assert.deepStrictEqual(pendingMigrations([one, two], [applied(two), applied(one)]), Either.right([]))
  })

  it("pendingMigrations rejects an applied migration whose text has changed", () => {
    const changed = { ...one, sql: `${one.sql} ` }
    assert.deepStrictEqual(
      pendingMigrations([changed, two], [applied(one)]),
      Either.left(new MigrationChanged({ id: 1, file: "0001_one.ts" }))
    )
  })

  it("pendingMigrations refuses an applied migration that the program does not contain", () => {
    assert.deepStrictEqual(
      pendingMigrations([one], [applied(one), applied(two)]),
      Either.left(new SchemaTooNew({ id: 2, file: "0002_two.ts" }))
    )
  })

  it("sha256Of depends on the SQL text alone", () => {
    assert.strictEqual(sha256Of(one), sha256Of({ ...two, sql: one.sql }))
    assert.notStrictEqual(sha256Of(one), sha256Of(two))
  })
})
