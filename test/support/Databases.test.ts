import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Redacted, Scope } from "effect"
import { Client } from "pg"
import { databaseFromTemplate, freshDatabase } from "./Databases.ts"

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

describe("Databases", () => {
  it.scopedLive("freshDatabase creates an empty database per caller and drops it with the scope", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const [one, two] = yield* Effect.all([Scope.extend(freshDatabase, scope), freshDatabase])
      yield* query(one, "create table mine (id int)")
      assert.deepStrictEqual(yield* query(two, "select to_regclass('mine') as mine"), [{ mine: null }])
      yield* Scope.close(scope, Exit.void)
      assert.isTrue(Exit.isFailure(yield* Effect.exit(query(one, "select 1"))))
    })
  )

  it.scopedLive("databaseFromTemplate prepares a template once and copies it", () =>
    Effect.gen(function* () {
      let prepared = 0
      const template = {
        name: "databases_test",
        prepare: (url: Redacted.Redacted) =>
          Effect.zipRight(
            Effect.sync(() => prepared++),
            query(url, "create table seeded as select 7 as number")
          )
      }
      const [one, two] = yield* Effect.all([databaseFromTemplate(template), databaseFromTemplate(template)], {
        concurrency: "unbounded"
      })
      assert.strictEqual(prepared, 1)
      yield* query(one, "delete from seeded")
      assert.deepStrictEqual(yield* query(two, "select number from seeded"), [{ number: 7 }])
    })
  )
})
