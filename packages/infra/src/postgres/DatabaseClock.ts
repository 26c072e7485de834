import type { SqlClient } from "@effect/sql/SqlClient"
import { DateTime, Effect } from "effect"

/**
 * A moment of this process's clock as a moment of the database's. Leases are set by one process and looked at by another: on one
 * clock for all, hosts that do not agree on the time take nothing from each other.
 */
export const toDatabaseTime = (sql: SqlClient, moment: DateTime.Utc) =>
  Effect.map(DateTime.now, (now) => {
    const seconds = (DateTime.toEpochMillis(moment) - DateTime.toEpochMillis(now)) / 1000
    return sql`now() + make_interval(secs => ${seconds})`
  })
