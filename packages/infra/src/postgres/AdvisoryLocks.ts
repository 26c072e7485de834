import type { PgClient } from "@effect/sql-pg/PgClient"
import { Context, Effect, Layer, RcMap, RcRef, Schema, Scope } from "effect"
import { openDedicatedConnection, type DatabaseConnectionLost } from "./DedicatedConnection.ts"

/**
 * Locks by name, one holder at a time over all processes, for work that lasts longer than a transaction should.
 *
 * They are PostgreSQL's session locks, and all that a process holds hang on one connection of its own: a holder costs
 * the pool nothing however long it takes, a killed process releases them when its socket closes, and no clock decides
 * who holds what, as with a lease. A connection that breaks takes the locks with it, so its holders are interrupted.
 * Within a process callers queue in memory; only the first of a name asks the database. Not re-entrant.
 */
export class AdvisoryLocks extends Context.Tag("@berth/infra/AdvisoryLocks")<
  AdvisoryLocks,
  { readonly withLock: <A, E, R>(name: string, effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R> }
>() {}

// A host that vanishes sends no farewell: the holder finds out by its own pulse (10 s at most), before the server does (20 s at least) and frees the locks.
const heartbeatInterval = "5 seconds"
const settings =
  "set tcp_keepalives_idle = 20; set tcp_keepalives_interval = 5; set tcp_keepalives_count = 3; set statement_timeout = 0; set idle_session_timeout = 0"
const lockRetryInterval = "100 millis"

const Answer = Schema.Tuple(Schema.Struct({ done: Schema.Boolean }))
const isDone = (rows: ReadonlyArray<unknown>) =>
  Effect.map(Effect.orDie(Schema.decodeUnknown(Answer)(rows)), ([row]) => row.done)

const openSession = Effect.gen(function* () {
  const connection = yield* openDedicatedConnection("locks")
  yield* connection.query(settings)
  yield* connection
    .query("select 1")
    .pipe(
      Effect.timeoutFail({ duration: heartbeatInterval, onTimeout: () => "no sign of life" }),
      Effect.delay(heartbeatInterval),
      Effect.forever,
      Effect.catchAll(connection.abort),
      Effect.forkScoped
    )
  const ask = (statement: string, name: string) => Effect.flatMap(connection.query(statement, [name]), isDone)
  return {
    tryLock: (name: string) => ask("select pg_try_advisory_lock(hashtextextended($1, 0)) as done", name),
    unlock: (name: string) => ask("select pg_advisory_unlock(hashtextextended($1, 0)) as done", name),
    lost: connection.lost,
    isLost: connection.isLost,
    abort: connection.abort
  }
})
type LockSession = Effect.Effect.Success<typeof openSession>

/** Retries until the lock is acquired. Only the pauses are interruptible: an interrupted query could leave the lock acquired. */
const acquireLock = (
  session: LockSession,
  name: string,
  pause: Effect.Effect<void>
): Effect.Effect<void, DatabaseConnectionLost> =>
  Effect.flatMap(session.tryLock(name), (taken) =>
    taken ? Effect.void : Effect.zipRight(pause, acquireLock(session, name, pause))
  )

// Ending the session is the sure way to let go of a lock that would not be given back.
const releaseLock = (session: LockSession, name: string): Effect.Effect<void> =>
  session.unlock(name).pipe(
    Effect.catchAll((error) =>
      Effect.zipRight(
        Effect.logWarning("A lock was not given back, so its session ends").pipe(Effect.annotateLogs({ lock: name })),
        session.abort(error)
      )
    ),
    Effect.asVoid
  )

export const layer: Layer.Layer<AdvisoryLocks, never, PgClient> = Layer.scoped(
  AdvisoryLocks,
  Effect.gen(function* () {
    const sessions = yield* RcRef.make({ acquire: openSession, idleTimeToLive: "1 minute" })
    const turns = yield* RcMap.make({ lookup: (_name: string) => Effect.makeSemaphore(1) })

    const liveSession = Effect.flatMap(RcRef.get(sessions), (session) =>
      Effect.if(session.isLost, {
        onTrue: () => Effect.zipRight(RcRef.invalidate(sessions), RcRef.get(sessions)),
        onFalse: () => Effect.succeed(session)
      })
    )

    const holding = <A, E, R>(session: LockSession, name: string, effect: Effect.Effect<A, E, R>) =>
      Effect.uninterruptibleMask((restore) =>
        acquireLock(session, name, restore(Effect.sleep(lockRetryInterval))).pipe(
          Effect.orDie,
          Effect.zipRight(
            Effect.raceFirst(restore(effect), restore(Effect.orDie(session.lost))).pipe(
              Effect.ensuring(releaseLock(session, name))
            )
          )
        )
      )

    return AdvisoryLocks.of({
      withLock: (name, effect) =>
        Effect.scopedWith((scope) =>
          Effect.gen(function* () {
            const turn = yield* Scope.extend(RcMap.get(turns, name), scope)
            return yield* turn.withPermits(1)(
              Effect.flatMap(Effect.orDie(Scope.extend(liveSession, scope)), (session) =>
                holding(session, name, effect)
              )
            )
          })
        )
    })
  })
)
