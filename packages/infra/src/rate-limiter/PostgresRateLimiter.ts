import { RateLimiter } from "@berth/domain/limits/RateLimiter"
import type { Limit, LimitName } from "@berth/domain/limits/Limit"
import { Clock, Effect, Layer, Record, Redacted, Schedule } from "effect"
import pg from "pg"
import { RateLimiterPostgres } from "rate-limiter-flexible"
import { makeStoreErrorLog } from "../queue/StoreErrorLog.ts"
import { RateLimitStoreUnavailable, makeRateLimiter, toLimiterOptions } from "./StoredRateLimiter.ts"

export interface PostgresRateLimiterOptions {
  readonly url: Redacted.Redacted
  readonly limits: Record<LimitName, Limit>
  /** Schema of the table of windows, created when missing; letters, digits and underscores; default `limits`. */
  readonly schema?: string
}

const table = "windows"
const connections = 2
const clearing = Schedule.spaced("5 minutes")

/** Up to two connections of its own: limits do not queue behind slow queries. */
export const layer = (options: PostgresRateLimiterOptions): Layer.Layer<RateLimiter, RateLimitStoreUnavailable> =>
  Layer.scoped(
    RateLimiter,
    Effect.gen(function* () {
      const schema = options.schema ?? "limits"
      const pool = yield* openPool(options.url)
      const store = { storeClient: pool, storeType: "pool", schemaName: schema, tableName: table }
      yield* createTable(pool, schema, () =>
        Effect.async<void, unknown>((resume) => {
          new RateLimiterPostgres({ ...store, clearExpiredByTimeout: false }, (error) =>
            resume(error === undefined ? Effect.void : Effect.fail(error))
          )
        })
      )
      yield* clearExpired(pool, schema)
      return yield* makeRateLimiter(
        Record.map(
          options.limits,
          (limit, name) =>
            new RateLimiterPostgres({
              ...store,
              ...toLimiterOptions(name, limit),
              tableCreated: true,
              // The library's own timer would outlive the Layer.
              clearExpiredByTimeout: false
            })
        )
      )
    })
  )

const openPool = (url: Redacted.Redacted) =>
  Effect.flatMap(makeStoreErrorLog("Rate limit store error", {}), (logError) =>
    Effect.acquireRelease(
      Effect.sync(() =>
        new pg.Pool({
          connectionString: Redacted.value(url),
          application_name: "berth limits",
          max: connections,
          connectionTimeoutMillis: 2000,
          query_timeout: 5000,
          keepAlive: true
        }).on("error", logError)
      ),
      (pool) =>
        Effect.tryPromise(() => pool.end()).pipe(
          Effect.interruptible,
          Effect.timeout("5 seconds"),
          Effect.catchAll((error) => Effect.logWarning("Rate limit connections did not close", error))
        )
    )
  )

const identifier = (name: string) => pg.escapeIdentifier(name)

/** Advisory lock: concurrent `create ... if not exists` of starting processes can fail in PostgreSQL. */
const createTable = <E>(pool: pg.Pool, schema: string, create: () => Effect.Effect<void, E>) =>
  Effect.acquireUseRelease(
    Effect.tryPromise(() => pool.connect()),
    (client) =>
      Effect.acquireUseRelease(
        Effect.tryPromise(() => client.query("select pg_advisory_lock(hashtext('berth'), hashtext('limits'))")),
        () =>
          Effect.tryPromise(() => client.query(`create schema if not exists ${identifier(schema)}`)).pipe(
            Effect.zipRight(Effect.suspend(create))
          ),
        () =>
          Effect.orDie(
            Effect.tryPromise(() => client.query("select pg_advisory_unlock(hashtext('berth'), hashtext('limits'))"))
          )
      ),
    (client) => Effect.sync(() => client.release())
  ).pipe(
    Effect.timeout("30 seconds"),
    Effect.mapError((cause) => new RateLimitStoreUnavailable({ cause }))
  )

/** PostgreSQL has no expiry of rows. */
const clearExpired = (pool: pg.Pool, schema: string) =>
  Effect.gen(function* () {
    const now = yield* Clock.currentTimeMillis
    yield* Effect.tryPromise(() =>
      pool.query(`delete from ${identifier(schema)}.${identifier(table)} where expire < $1`, [now])
    )
  }).pipe(
    Effect.catchAllCause((cause) => Effect.logWarning("Expired rate limit windows could not be deleted", cause)),
    Effect.repeat(clearing),
    Effect.forkScoped
  )
