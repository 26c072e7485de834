import { selectRequests } from "@berth/infra/postgres/RequestTable"
import { SqlClient } from "@effect/sql/SqlClient"
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import * as MigratedDatabase from "../../support/MigratedDatabase.ts"

interface Request {
  readonly id: string
  readonly units: number | null
  readonly isPaid: boolean
  readonly at: string
}

const requests: ReadonlyArray<Request> = [
  { id: `NULL {"\\",}`, units: 2 ** 53 - 1, isPaid: true, at: "2026-03-01T12:00:00.000Z" },
  { id: "", units: null, isPaid: false, at: "2026-03-01T12:00:00.001Z" }
]

layer(MigratedDatabase.layer)("selectRequests", (it) => {
  it.effect("selectRequests returns each request as a row, and a kept plan expects one", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const select = selectRequests<Request>(sql, requests, {
        id: ["text", ({ id }) => id],
        units: ["bigint", ({ units }) => units],
        isPaid: ["boolean", ({ isPaid }) => isPaid],
        at: ["timestamptz", ({ at }) => at]
      })
      assert.deepStrictEqual(
        yield* sql`${select}`,
        requests.map(({ at, id, isPaid, units }) => ({
          id,
          units: units === null ? null : String(units),
          isPaid,
          at: new Date(at)
        }))
      )
      const [text] = sql`${select}`.compile()
      const [plan] = yield* sql.unsafe<{ "QUERY PLAN": string }>(`explain (generic_plan) ${text}`).withoutTransform
      assert.match(plan?.["QUERY PLAN"] ?? "", /^Limit .* rows=1 /)
    })
  )
})
