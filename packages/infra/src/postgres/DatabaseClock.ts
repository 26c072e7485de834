import type { SqlClient } from "@effect/sql/SqlClient"
import { DateTime, Effect } from "effect"

/**
 * Converts a time of this process's clock to the database's clock. Leases are set and checked by different processes;
 * with one clock for all, clock differences between hosts have no effect.
 */
export const toDatabaseTime = (sql: SqlClient, moment: DateTime.Utc) =>
  Effect.map(DateTime.now, (now) => {
    const seconds = (DateTime.toEpochMillis(moment) - DateTime.toEpochMillis(now)) / 1000
    return sql`now() + make_interval(secs => ${seconds})`
  })

/** The time of this process's clock, as a parameter of statements. */
export const currentDate = Effect.map(DateTime.now, DateTime.toDate)
