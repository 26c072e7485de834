import * as PgClient from "@effect/sql-pg/PgClient"
import type { SqlClient } from "@effect/sql/SqlClient"
import { SqlError } from "@effect/sql/SqlError"
import { Data, Duration, Effect, Layer, Metric, Option, Redacted, Runtime, type Scope } from "effect"
import { Pool } from "pg"
import { addSampler } from "../telemetry/ProcessMetrics.ts"
import { IdleTimeoutSocket } from "./IdleTimeoutSocket.ts"
import { readHostPort, waitUntilResponding } from "../net/StartupWait.ts"
import { toColumnName, toPropertyName } from "./ColumnNames.ts"
import { DirectQueries, makeDirectQueries } from "./DirectQueries.ts"
import { PreparingClient } from "./PreparedStatements.ts"
import { DatabaseAccessDenied } from "./SchemaErrors.ts"
import { readSqlErrorCode } from "./SqlErrors.ts"

export interface PostgresPoolOptions {
  readonly url: Redacted.Redacted
  /**
   * Maximum connections of this process's pool. Dedicated connections are additional: one for LISTEN, one for advisory
   * locks.
   */
  readonly maxConnections: number
  /** `application_name` in `pg_stat_activity`. */
  readonly applicationName: string
  /** Maximum wait for the database at start; default: unlimited. */
  readonly startTimeout?: Duration.DurationInput
  /** Timeouts of a statement and of the wait for a connection; default: 30 s and 15 s. */
  readonly statementTimeout?: Duration.Duration
  /** Time without data after which a connection counts as lost; default: the statement timeout plus half a second. */
  readonly idleTimeout?: Duration.DurationInput
}

/** The database did not respond within the start timeout. */
export class DatabaseUnreachable extends Data.TaggedError("DatabaseUnreachable")<{
  readonly reason: string
  readonly cause: unknown
}> {}

const defaultStatementTimeout = Duration.seconds(30)
// The server must report a slow statement before its connection counts as lost.
const silenceMargin = Duration.millis(500)
// Long, since the outbox relay waits for the queue inside of a transaction.
const idleInTransactionTimeout = Duration.seconds(60)
// Required, since the wait for a pool connection is uninterruptible.
const defaultPoolTimeout = Duration.seconds(15)
const connectTimeout = Duration.seconds(3)
// Longer than the intervals of pollers, since a connection costs an authentication.
const unusedTimeout = Duration.minutes(5)
const defaultPort = 5432

// Permanent errors: wrong password, rejected role, unknown database.
const permanentErrorCodes = new Set(["28P01", "28000", "3D000"])

const connectionsByState = Metric.gauge("berth_database_pool_connections", {
  description: "Connections of this process's pool by state"
})
const connections = {
  used: Metric.tagged(connectionsByState, "state", "used"),
  idle: Metric.tagged(connectionsByState, "state", "idle")
}
const waiting = Metric.gauge("berth_database_pool_waiting_requests", {
  description: "Statements that wait for a connection of the pool"
})

const acquirePool = (options: PostgresPoolOptions): Effect.Effect<Pool, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.map(Effect.runtime<never>(), (runtime) => {
      const { statementTimeout = defaultStatementTimeout } = options
      const pool = new Pool({
        connectionString: Redacted.value(options.url),
        application_name: options.applicationName,
        max: options.maxConnections,
        Client: PreparingClient,
        keepAlive: true,
        idleTimeoutMillis: Duration.toMillis(unusedTimeout),
        stream: () =>
          new IdleTimeoutSocket({
            connect: Duration.toMillis(connectTimeout),
            answer: Duration.toMillis(options.idleTimeout ?? Duration.sum(statementTimeout, silenceMargin))
          }),
        connectionTimeoutMillis: Duration.toMillis(options.statementTimeout ?? defaultPoolTimeout),
        statement_timeout: Duration.toMillis(statementTimeout),
        idle_in_transaction_session_timeout: Duration.toMillis(idleInTransactionTimeout)
      })
      // Without a listener, the failure of an idle connection would end the process.
      pool.on("error", (cause) =>
        Runtime.runFork(runtime)(
          Effect.logWarning("Idle database connection lost").pipe(
            Effect.annotateLogs({ code: readSqlErrorCode(cause) ?? "none" })
          )
        )
      )
      const removeSampler = addSampler(() => {
        connections.used.unsafeUpdate(pool.totalCount - pool.idleCount, [])
        connections.idle.unsafeUpdate(pool.idleCount, [])
        waiting.unsafeUpdate(pool.waitingCount, [])
      })
      return { pool, removeSampler }
    }),
    ({ pool, removeSampler }) =>
      Effect.promise(() => {
        removeSampler()
        return pool.end()
      }).pipe(Effect.interruptible, Effect.timeoutOption("5 seconds"), Effect.asVoid)
  ).pipe(Effect.map(({ pool }) => pool))

const isPermanent = ({ cause }: SqlError) => permanentErrorCodes.has(readSqlErrorCode(cause) ?? "")

const waitUntilReachable = (pool: Pool, { startTimeout, url }: PostgresPoolOptions) =>
  waitUntilResponding(
    Effect.tryPromise({
      try: () => pool.query("select 1"),
      catch: (cause) => new SqlError({ cause, message: "The database does not respond" })
    }),
    {
      system: `PostgreSQL at ${readHostPort(url, defaultPort)}`,
      describe: ({ cause }) => readSqlErrorCode(cause) ?? (cause instanceof Error ? cause.message : "no reply"),
      isPermanent,
      atMost: startTimeout
    }
  )

/**
 * Shared connection pool. Column names are camelCase in code and snake_case in the database; keys inside of JSON are
 * unchanged.
 */
export const layer = (
  options: PostgresPoolOptions
): Layer.Layer<PgClient.PgClient | SqlClient, DatabaseUnreachable | DatabaseAccessDenied> =>
  Layer.unwrapScoped(
    Effect.map(acquirePool(options), (pool) =>
      PgClient.layerFromPool({
        acquire: Effect.as(waitUntilReachable(pool, options), pool),
        applicationName: options.applicationName,
        transformQueryNames: toColumnName,
        transformResultNames: toPropertyName,
        transformJson: false
      }).pipe(Layer.merge(Layer.succeed(DirectQueries, Option.some(makeDirectQueries(pool)))))
    )
  ).pipe(
    Layer.mapError((error) => {
      const reason = readSqlErrorCode(error.cause) ?? error.message
      return isPermanent(error)
        ? new DatabaseAccessDenied({
            reason,
            address: readHostPort(options.url, defaultPort),
            sentence: error.cause instanceof Error ? error.cause.message : error.message
          })
        : new DatabaseUnreachable({ reason, cause: error.cause })
    })
  )
