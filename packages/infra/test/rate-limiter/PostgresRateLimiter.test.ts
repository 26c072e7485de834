import { defaultLimits } from "@berth/domain/limits/Limit"
import * as PostgresRateLimiter from "@berth/infra/rate-limiter/PostgresRateLimiter"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import { Client } from "pg"
import { eventually } from "../../../../test/support/Eventually.ts"
import { freshDatabase } from "../../../../test/support/Databases.ts"

const limits = defaultLimits

const execute = (url: string, statement: string) =>
  Effect.promise(async () => {
    const client = new Client({ connectionString: url })
    await client.connect()
    try {
      return (await client.query<Record<string, unknown>>(statement)).rows
    } finally {
      await client.end()
    }
  })

describe("PostgresRateLimiter", () => {
  it.scopedLive(
    "PostgresRateLimiter starts concurrently in several processes on an empty database, with at most two connections each",
    () =>
      Effect.gen(function* () {
        const url = yield* freshDatabase
        yield* Effect.all(
          Array.from({ length: 12 }, () => Layer.build(Layer.fresh(PostgresRateLimiter.layer({ url, limits })))),
          { concurrency: "unbounded" }
        )
        const [row] = yield* execute(
          Redacted.value(url),
          "select count(*)::int as open from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()"
        )
        assert.isAtMost(Number(row?.["open"]), 24)
      })
  )

  it.scopedLive("PostgresRateLimiter deletes only expired windows", () =>
    Effect.gen(function* () {
      const url = yield* freshDatabase
      const windows = Effect.map(
        execute(Redacted.value(url), 'select key from "limits"."windows" order by key'),
        (rows) => rows.map(({ key }) => key)
      )
      yield* Effect.scoped(Layer.build(PostgresRateLimiter.layer({ url, limits })))
      yield* execute(
        Redacted.value(url),
        `insert into "limits"."windows" values ('now', 1, extract(epoch from now() + interval '1 hour') * 1000), ('over', 1, 1)`
      )
      assert.deepStrictEqual(yield* windows, ["now", "over"])
      yield* Layer.build(PostgresRateLimiter.layer({ url, limits }))
      yield* eventually(windows, (keys) => keys.length === 1 && keys[0] === "now")
    })
  )
})
