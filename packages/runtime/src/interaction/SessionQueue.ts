import { Data, Deferred, Effect, Exit, FiberId, type Scope } from "effect"

/** More turns wait in this cell than it takes. */
export class TurnLimitReached extends Data.TaggedError("TurnLimitReached")<object> {}

export interface SessionQueue {
  /**
   * Takes the next place in the session's line, at once, and gives it up with the scope. The effect that comes back ends
   * when everyone who came before has given up theirs.
   */
  readonly join: (sessionId: string) => Effect.Effect<Effect.Effect<void>, TurnLimitReached, Scope.Scope>
}

/**
 * A line per session, first come first served. Each place knows the one before it, because a semaphore lets a newcomer
 * slip in between a release and the waking of who waited.
 */
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
        Effect.acquireRelease(join(sessionId), ({ before, left }) =>
          // Who gives up while still waiting must not let the next one overtake those in front.
          before === undefined
            ? leave(sessionId, left)
            : Effect.forkDaemon(Effect.zipRight(Deferred.await(before), leave(sessionId, left)))
        ).pipe(Effect.map(({ before }) => (before === undefined ? Effect.void : Deferred.await(before))))
    }
  })
