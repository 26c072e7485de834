import * as PgClient from "@effect/sql-pg/PgClient"
import type { SqlClient } from "@effect/sql/SqlClient"
import { SqlError } from "@effect/sql/SqlError"
import { Data, Duration, Effect, Layer, Redacted, Runtime, Schedule, type Scope, String } from "effect"
import { Pool } from "pg"
import { IdleTimeoutSocket } from "./IdleTimeoutSocket.ts"
import { PreparingClient } from "./PreparedStatements.ts"
import { readSqlErrorCode } from "./SqlErrors.ts"

export interface PostgresPoolOptions {
  readonly url: Redacted.Redacted
  /** Connections of this process's pool. Dedicated ones come on top: one to listen, one for advisory locks. */
  readonly maxConnections: number
  /** How the process is called in `pg_stat_activity`. */
  readonly applicationName: string
  /** How long a start waits for a database that does not answer yet; 30 s when absent. */
  readonly startTimeout?: Duration.DurationInput
  /** How long the database may be silent after it was asked before the connection counts as lost; 35 s when absent. */
  readonly idleTimeout?: Duration.DurationInput
}

/** No usable answer from the database within the time a start may take. */
export class DatabaseUnreachable extends Data.TaggedError("DatabaseUnreachable")<{
  readonly reason: string
  readonly cause: unknown
}> {}

// A statement that runs this long is a mistake; nothing here is a report over the whole database.
const statementTimeout = Duration.seconds(30)
// A little longer than any statement may run: what is silent for longer is not there any more.
const defaultIdleTimeout = Duration.sum(statementTimeout, Duration.seconds(5))
// A transaction may wait for the queue while it hands over outbox entries, but a forgotten one must let go of its locks.
const idleInTransactionTimeout = Duration.seconds(60)
// Bounds the wait for a free connection of the pool, which nothing can interrupt.
const poolTimeout = Duration.seconds(15)
// A database that is there takes a connection at once.
const connectTimeout = Duration.seconds(3)

// Waiting does not heal a wrong password, a refused role or a database that does not exist.
const permanentErrorCodes = new Set(["28P01", "28000", "3D000"])

const acquirePool = (options: PostgresPoolOptions): Effect.Effect<Pool, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.map(Effect.runtime<never>(), (runtime) => {
      const pool = new Pool({
        connectionString: Redacted.value(options.url),
        application_name: options.applicationName,
        max: options.maxConnections,
        Client: PreparingClient,
        keepAlive: true,
        stream: () =>
          new IdleTimeoutSocket({
            connect: Duration.toMillis(connectTimeout),
            answer: Duration.toMillis(options.idleTimeout ?? defaultIdleTimeout)
          }),
        connectionTimeoutMillis: Duration.toMillis(poolTimeout),
        statement_timeout: Duration.toMillis(statementTimeout),
        idle_in_transaction_session_timeout: Duration.toMillis(idleInTransactionTimeout)
      })
      // Without a listener an idle connection that breaks would end the process.
      pool.on("error", (cause) =>
        Runtime.runFork(runtime)(
          Effect.logWarning("An idle database connection broke").pipe(
            Effect.annotateLogs({ code: readSqlErrorCode(cause) ?? "none" })
          )
        )
      )
      return pool
    }),
    (pool) =>
      Effect.promise(() => pool.end()).pipe(Effect.interruptible, Effect.timeoutOption("5 seconds"), Effect.asVoid)
  )

const waitUntilReachable = (pool: Pool, options: PostgresPoolOptions): Effect.Effect<void, SqlError> =>
  Effect.tryPromise({
    try: () => pool.query("select 1"),
    catch: (cause) => new SqlError({ cause, message: "The database does not answer" })
  }).pipe(
    Effect.tapError((error) =>
      Effect.logWarning("The database does not answer yet").pipe(
        Effect.annotateLogs({ code: readSqlErrorCode(error.cause) ?? "none", application: options.applicationName })
      )
    ),
    Effect.retry({
      schedule: Schedule.exponential("100 millis").pipe(
        Schedule.union(Schedule.spaced("2 seconds")),
        Schedule.upTo(options.startTimeout ?? "30 seconds")
      ),
      while: (error) => !permanentErrorCodes.has(readSqlErrorCode(error.cause) ?? "")
    }),
    Effect.asVoid
  )

/** The shared connection pool: camelCase here is snake_case there, keys inside json stay as they are. */
export const layer = (options: PostgresPoolOptions): Layer.Layer<PgClient.PgClient | SqlClient, DatabaseUnreachable> =>
  PgClient.layerFromPool({
    acquire: Effect.tap(acquirePool(options), (pool) => waitUntilReachable(pool, options)),
    applicationName: options.applicationName,
    transformQueryNames: String.camelToSnake,
    transformResultNames: String.snakeToCamel,
    transformJson: false
  }).pipe(
    Layer.mapError(
      (error) => new DatabaseUnreachable({ reason: readSqlErrorCode(error.cause) ?? error.message, cause: error.cause })
    )
  )
