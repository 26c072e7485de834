import { acquireScoped } from "@berth/domain/shared/AcquireScoped"
import { Data, Deferred, Effect, Exit, FiberId, type Scope } from "effect"

class TurnLimitReached extends Data.TaggedError("TurnLimitReached")<object> {}

export interface SessionQueue {
  /**
   * Enters the queue immediately and leaves it when the scope closes. The returned effect waits for all earlier
   * entries.
   */
  readonly join: (sessionId: string) => Effect.Effect<Effect.Effect<void>, TurnLimitReached, Scope.Scope>
}

/** FIFO per session. Each entry awaits its predecessor, since a semaphore would let new entries overtake. */
export const make = (options: { readonly places: number }): Effect.Effect<SessionQueue> =>
  Effect.sync(() => {
    const last = new Map<string, Deferred.Deferred<void>>()
    let taken = 0

    const join = (sessionId: string) =>
      Effect.suspend(() => {
        if (taken >= options.places) return new TurnLimitReached()
        taken += 1
        const before = last.get(sessionId)
        const left = Deferred.unsafeMake<void>(FiberId.none)
        last.set(sessionId, left)
        return Effect.succeed({ before, left })
      })

    const leave = (sessionId: string, left: Deferred.Deferred<void>) =>
      Effect.sync(() => {
        taken -= 1
        if (last.get(sessionId) === left) last.delete(sessionId)
        Deferred.unsafeDone(left, Exit.void)
      })

    return {
      join: (sessionId) =>
        acquireScoped(join(sessionId), ({ before, left }) =>
          // An interrupted entry still waits for its predecessor, so that its successor does not overtake.
          before === undefined
            ? leave(sessionId, left)
            : Effect.forkDaemon(Effect.zipRight(Deferred.await(before), leave(sessionId, left)))
        ).pipe(Effect.map(({ before }) => (before === undefined ? Effect.void : Deferred.await(before))))
    }
  })
