import { leaseDuration } from "@berth/domain/limits/Lease"
import { LeaseWakeups, makeLeaseTable } from "@berth/infra/postgres/LeaseTable"
import { makeWakeups } from "@berth/infra/postgres/Wakeups"
import { SqlClient } from "@effect/sql/SqlClient"
import { assert, layer } from "@effect/vitest"
import { Duration, Effect, Fiber, Layer } from "effect"
import * as MigratedDatabase from "../../support/MigratedDatabase.ts"

/** Waits end by notifications only, not by polling. */
const withoutPolling = Layer.scoped(
  LeaseWakeups,
  Effect.map(makeWakeups("berth_leases"), ({ subscribe }) => ({
    subscribe: (payload: string) => subscribe(payload, "2 minutes")
  }))
)

const Live = withoutPolling.pipe(Layer.provideMerge(MigratedDatabase.layer))

/** A lease table with one row, held by `holder`. */
const makeHeldRow = Effect.gen(function* () {
  const sql = yield* SqlClient
  yield* sql`drop table if exists test_leases`
  yield* sql`create table test_leases (id text primary key, claim_id text, lease_until timestamptz, done_at timestamptz)`
  yield* sql`insert into test_leases values ('row', 'holder', now(), null)`
  const leases = yield* makeLeaseTable("test_leases", { key: "id", completed: "done_at" })
  return { sql, leases, lease: { key: "row", claimId: "holder" }, lost: { key: "row", claimId: "earlier" } }
})

layer(Live, { excludeTestServices: true })("LeaseTable", (it) => {
  it.effect("LeaseTable.renew extends the lease of the holder from now, and no lost or completed claim", () =>
    Effect.gen(function* () {
      const { lease, leases, lost, sql } = yield* makeHeldRow
      assert.isFalse(yield* leases.renew(lost))
      assert.isTrue(yield* leases.renew(lease))
      const [row] = yield* sql<{ left: number }>`
        select extract(epoch from lease_until - now())::float8 as "left" from test_leases`
      assert.closeTo(row?.left ?? 0, Duration.toSeconds(leaseDuration), 5)
      yield* sql`update test_leases set done_at = now()`
      assert.isFalse(yield* leases.renew(lease))
    })
  )

  it.scoped("LeaseTable.end completes the work of the holder once, and wakes the waiters of its key", () =>
    Effect.gen(function* () {
      const { lease, leases, lost, sql } = yield* makeHeldRow
      const ended = yield* leases.subscribe(lease.key)
      // An established connection wakes every subscription once.
      yield* ended
      const waiting = yield* Effect.fork(ended)
      const complete = (claim: typeof lease) =>
        leases.end(claim, sql`update test_leases set done_at = now() where ${leases.isHeld(claim)}`)
      assert.isFalse(yield* complete(lost))
      assert.isTrue(yield* complete(lease))
      yield* Fiber.join(waiting)
      assert.isFalse(yield* complete(lease))
    })
  )
})
