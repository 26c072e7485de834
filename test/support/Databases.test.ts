import { describe, expect, it } from "@effect/vitest"
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
  it.scopedLive("gives each caller an empty database and takes it away again", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const [one, two] = yield* Effect.all([Scope.extend(freshDatabase, scope), freshDatabase])
      yield* query(one, "create table mine (id int)")
      expect(yield* query(two, "select to_regclass('mine') as mine")).toEqual([{ mine: null }])
      yield* Scope.close(scope, Exit.void)
      expect(Exit.isFailure(yield* Effect.exit(query(one, "select 1")))).toBe(true)
    })
  )

  it.scopedLive("prepares a template once and copies it", () =>
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
      expect(prepared).toBe(1)
      yield* query(one, "delete from seeded")
      expect(yield* query(two, "select number from seeded")).toEqual([{ number: 7 }])
    })
  )
})
