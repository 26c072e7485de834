import { leaseDuration, type LeaseSubscription } from "@berth/domain/limits/Lease"
import type { PgClient } from "@effect/sql-pg/PgClient"
import { SqlClient } from "@effect/sql/SqlClient"
import type { Statement } from "@effect/sql/Statement"
import { Context, Duration, Effect, Layer } from "effect"
import { affectsRow, execute } from "./Rows.ts"
import { makeWakeups, type Wakeups } from "./Wakeups.ts"

const channel = "berth_leases"
// Bounds the wait for the lease of a dead process, which sends no notification.
const pollInterval = Duration.seconds(1)

/** One connection per process, for the leases of all tables. */
export class LeaseWakeups extends Context.Tag("@berth/LeaseWakeups")<LeaseWakeups, Wakeups>() {}
export const wakeupsLayer: Layer.Layer<LeaseWakeups, never, PgClient> = Layer.scoped(LeaseWakeups, makeWakeups(channel))

interface HeldLease {
  readonly key: string
  readonly claimId: string
}

/** Leases on rows with `claim_id` and `lease_until`. `key`: the primary key; `completed`: null until the work is complete. */
export const makeLeaseTable = Effect.fnUntraced(function* (
  table: string,
  columns: { readonly key: string; readonly completed: string }
) {
  const sql = yield* SqlClient
  const wakeups = yield* LeaseWakeups
  /** Expiry of a lease that begins now, by the database's clock, since clocks of hosts differ. */
  const leased = sql`now() + make_interval(secs => ${Duration.toSeconds(leaseDuration)})`
  /** Condition of every write under a lease: the claim is the latest and the work is not complete. */
  const isHeld = ({ claimId, key }: HeldLease) =>
    sql`${sql(columns.key)} = ${key} and claim_id = ${claimId} and ${sql(columns.completed)} is null`
  const name = (key: string) => `${table} ${key}`

  return {
    leased,
    isHeld,
    /** Extends the lease; false if the claim is lost. */
    renew: (lease: HeldLease) =>
      affectsRow(sql`update ${sql(table)} set lease_until = ${leased} where ${isHeld(lease)}`),
    /** Runs the statement that completes or releases a lease, then wakes its waiters. False if it changed no row. */
    end: (lease: HeldLease, statement: Statement<unknown>) =>
      Effect.zipLeft(affectsRow(statement), execute(sql`select pg_notify(${channel}, ${name(lease.key)})`)),
    subscribe: (key: string): LeaseSubscription => wakeups.subscribe(name(key), pollInterval)
  }
})
