import { PgClient } from "@effect/sql-pg/PgClient"
import { type Duration, Effect, Schedule, type Scope } from "effect"
import { openDedicatedConnection } from "./DedicatedConnection.ts"
import { readSqlErrorCode } from "./SqlErrors.ts"

/** Waiters for the payloads of one NOTIFY channel. */
export interface Wakeups {
  /**
   * Subscribes to a payload until the scope closes. The returned effect ends at the next notification, including one
   * received since its previous end, or after `atMost`: notifications can be lost, so the caller must poll.
   */
  readonly subscribe: (
    payload: string,
    atMost: Duration.DurationInput
  ) => Effect.Effect<Effect.Effect<void>, never, Scope.Scope>
}

/** Listens on `channel` over a dedicated connection, opened at the first subscription and reopened after a loss. */
export const makeWakeups = Effect.fnUntraced(function* (
  channel: string
): Effect.fn.Return<Wakeups, never, PgClient | Scope.Scope> {
  const pg = yield* PgClient
  const scope = yield* Effect.scope
  const subscribers = new Map<Effect.Latch, string>()
  const wake = (payload?: string) => {
    for (const [latch, subscribed] of subscribers)
      if (payload === undefined || payload === subscribed) latch.unsafeOpen()
  }

  const listen = Effect.scoped(
    Effect.gen(function* () {
      const connection = yield* openDedicatedConnection(channel)
      connection.client.on("notification", ({ payload }) => wake(payload ?? ""))
      yield* connection.query(`listen ${channel}`)
      // Notifications sent before the connection was established are lost.
      wake()
      return yield* connection.lost
    })
  ).pipe(
    Effect.tapError((error) =>
      Effect.logWarning("Notification connection lost, reconnecting").pipe(
        Effect.annotateLogs({ channel, code: readSqlErrorCode(error.cause) ?? "none" })
      )
    ),
    Effect.retry(Schedule.exponential("50 millis").pipe(Schedule.union(Schedule.spaced("2 seconds")))),
    Effect.provideService(PgClient, pg)
  )
  // A fiber forked in the uninterruptible region of a request would block the scope from closing.
  const listening = yield* Effect.cached(Effect.forkIn(Effect.interruptible(listen), scope))

  return {
    subscribe: (payload, atMost) =>
      Effect.gen(function* () {
        const latch = yield* Effect.acquireRelease(
          Effect.tap(Effect.makeLatch(false), (latch) => Effect.sync(() => subscribers.set(latch, payload))),
          (latch) => Effect.sync(() => subscribers.delete(latch))
        )
        yield* listening
        return latch.await.pipe(
          Effect.zipRight(latch.close),
          Effect.timeoutOption(atMost),
          // A timeout has no effect in the uninterruptible region around a request.
          Effect.interruptible,
          Effect.asVoid
        )
      })
  }
})
