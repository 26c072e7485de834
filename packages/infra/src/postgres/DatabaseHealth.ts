import { SqlClient } from "@effect/sql/SqlClient"
import { Data, Effect } from "effect"

class DatabaseUnresponsive extends Data.TaggedError("DatabaseUnresponsive")<{ readonly cause: unknown }> {}

/** Checks that the database responds within two seconds, including the wait for a pool connection. */
export const pingDatabase: Effect.Effect<void, DatabaseUnresponsive, SqlClient> = Effect.flatMap(
  SqlClient,
  (sql) => sql`select 1`
).pipe(
  Effect.mapError((cause) => new DatabaseUnresponsive({ cause })),
  Effect.timeoutFail({
    duration: "2 seconds",
    onTimeout: () => new DatabaseUnresponsive({ cause: "no answer within two seconds" })
  }),
  Effect.asVoid,
  Effect.withSpan("Postgres.ping")
)

/** The same check on the pool of this program. */
export const makeDatabaseCheck = Effect.map(SqlClient, (sql) => Effect.provideService(pingDatabase, SqlClient, sql))
