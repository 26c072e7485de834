import { RateLimiter } from "@berth/domain/limits/RateLimiter"
import type { Limit, LimitName } from "@berth/domain/limits/Limit"
import { Clock, Effect, Layer, Record, Redacted, Schedule } from "effect"
import pg from "pg"
import { RateLimiterPostgres } from "rate-limiter-flexible"
import { makeStoreErrorLog } from "../queue/StoreErrorLog.ts"
import { RateLimitStoreUnavailable, makeRateLimiter, toLimiterOptions } from "./StoredRateLimiter.ts"

interface PostgresRateLimiterOptions {
  readonly url: Redacted.Redacted
  readonly limits: Record<LimitName, Limit>
}

/** Schema of the table of windows; created if absent. */
const schema = "limits"
const table = "windows"
const connections = 2
const clearing = Schedule.spaced("5 minutes")

/** Up to two dedicated connections, so that limits do not queue behind slow queries. */
export const layer = (options: PostgresRateLimiterOptions): Layer.Layer<RateLimiter, RateLimitStoreUnavailable> =>
  Layer.scoped(
    RateLimiter,
    Effect.gen(function* () {
      const pool = yield* openPool(options.url)
      const store = { storeClient: pool, storeType: "pool", schemaName: schema, tableName: table }
      yield* createTable(pool, () =>
        Effect.async<void, unknown>((resume) => {
          new RateLimiterPostgres({ ...store, clearExpiredByTimeout: false }, (error) =>
            resume(error === undefined ? Effect.void : Effect.fail(error))
          )
        })
      )
      yield* clearExpired(pool)
      return yield* makeRateLimiter(
        Record.map(
          options.limits,
          (limit, name) =>
            new RateLimiterPostgres({
              ...store,
              ...toLimiterOptions(name, limit),
              tableCreated: true,
              // The library's timer would outlive the Layer.
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

/** Takes an advisory lock, since concurrent `create ... if not exists` can fail in PostgreSQL. */
const createTable = <E>(pool: pg.Pool, create: () => Effect.Effect<void, E>) =>
  Effect.acquireUseRelease(
    Effect.tryPromise(() => pool.connect()),
    (client) =>
      Effect.acquireUseRelease(
        Effect.tryPromise(() => client.query("select pg_advisory_lock(hashtext('berth'), hashtext('limits'))")),
        () =>
          Effect.tryPromise(() => client.query(`create schema if not exists ${schema}`)).pipe(
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

/** Deletes expired rows, since PostgreSQL has no expiry. */
const clearExpired = Effect.fnUntraced(
  function* (pool: pg.Pool) {
    const now = yield* Clock.currentTimeMillis
    yield* Effect.tryPromise(() => pool.query(`delete from ${schema}.${table} where expire < $1`, [now]))
  },
  Effect.catchAllCause((cause) => Effect.logWarning("Expired rate limit windows could not be deleted", cause)),
  Effect.repeat(clearing),
  Effect.forkScoped
)
