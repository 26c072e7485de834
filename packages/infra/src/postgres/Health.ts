import { SqlClient } from "@effect/sql/SqlClient"
import { Data, Effect } from "effect"

export class DatabaseDoesNotAnswer extends Data.TaggedError("DatabaseDoesNotAnswer")<{ readonly cause: unknown }> {}

/** Whether the database answers within two seconds, a free connection of the pool included. */
export const ping: Effect.Effect<void, DatabaseDoesNotAnswer, SqlClient> = Effect.flatMap(
  SqlClient,
  (sql) => sql`select 1`
).pipe(
  Effect.mapError((cause) => new DatabaseDoesNotAnswer({ cause })),
  Effect.timeoutFail({
    duration: "2 seconds",
    onTimeout: () => new DatabaseDoesNotAnswer({ cause: "no answer within two seconds" })
  }),
  Effect.asVoid,
  Effect.withSpan("Postgres.ping")
)
