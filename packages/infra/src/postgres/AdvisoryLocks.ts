import { Effect, RcMap, RcRef, Schema, Scope } from "effect"
import { openDedicatedConnection, type DatabaseConnectionLost } from "./DedicatedConnection.ts"

// If a host disappears, its holder detects that by its own heartbeat (at most 10 s) before the server does (at least 20
// s) and releases the locks.
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

/**
 * Retries until the lock is acquired. Only the pauses are interruptible, since an interrupted query could leave the
 * lock acquired.
 */
const acquireLock = (
  session: LockSession,
  name: string,
  pause: Effect.Effect<void>
): Effect.Effect<void, DatabaseConnectionLost> =>
  Effect.flatMap(session.tryLock(name), (isAcquired) =>
    isAcquired ? Effect.void : Effect.zipRight(pause, acquireLock(session, name, pause))
  )

// If unlocking fails, ending the session releases the lock.
const releaseLock = (session: LockSession, name: string): Effect.Effect<void> =>
  session.unlock(name).pipe(
    Effect.catchAll((error) =>
      Effect.zipRight(
        Effect.logWarning("Advisory lock not released, ending its session").pipe(Effect.annotateLogs({ lock: name })),
        session.abort(error)
      )
    ),
    Effect.asVoid
  )

/**
 * Named locks with one holder over all processes, for work that is too long for a transaction. Session locks of
 * PostgreSQL, all on one dedicated connection per process: a holder occupies no pool connection, a killed process
 * releases its locks when its socket closes, and unlike a lease no clock is involved. A lost connection releases the
 * locks, so their holders are interrupted. Callers of a process queue in memory; only the first one of a name queries
 * the database. Not re-entrant.
 */
export const makeAdvisoryLocks = Effect.gen(function* () {
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

  return {
    withLock: <A, E, R>(name: string, effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
      Effect.scopedWith((scope) =>
        Effect.gen(function* () {
          const turn = yield* Scope.extend(RcMap.get(turns, name), scope)
          return yield* turn.withPermits(1)(
            Effect.flatMap(Effect.orDie(Scope.extend(liveSession, scope)), (session) => holding(session, name, effect))
          )
        })
      )
  }
})
