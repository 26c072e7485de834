import { Deferred, Duration, Effect, Schedule } from "effect"
import type { UserId } from "../../shared/UserId.ts"
import { Users } from "../Users.ts"

const pollInterval = Duration.seconds(1)

interface Watched {
  readonly suspended: Deferred.Deferred<void>
  watchers: number
}

/** Notices suspensions by any process, for work in progress. One statement per interval reads all watched users. */
export class SuspensionWatch extends Effect.Service<SuspensionWatch>()("@berth/SuspensionWatch", {
  scoped: Effect.gen(function* () {
    const users = yield* Users
    const watched = new Map<UserId, Watched>()

    const poll = Effect.suspend(() =>
      watched.size === 0
        ? Effect.void
        : Effect.flatMap(users.findSuspended([...watched.keys()]), (found) =>
            Effect.forEach(
              [...watched],
              ([id, { suspended }]) => (found.has(id) ? Deferred.succeed(suspended, undefined) : Effect.void),
              { discard: true }
            )
          )
    ).pipe(
      Effect.catchAllCause((cause) => Effect.logWarning("Suspensions not read", cause)),
      Effect.withTracerEnabled(false)
    )
    yield* Effect.forkScoped(Effect.interruptible(Effect.schedule(poll, Schedule.spaced(pollInterval))))

    const enter = (id: UserId) =>
      Effect.map(Deferred.make<void>(), (suspended) => {
        const entry = watched.get(id) ?? { suspended, watchers: 0 }
        entry.watchers += 1
        watched.set(id, entry)
        return entry
      })
    const leave = (id: UserId, entry: Watched) =>
      Effect.sync(() => {
        entry.watchers -= 1
        if (entry.watchers === 0) watched.delete(id)
      })

    return {
      /** Completes when the user is suspended. */
      awaitSuspension: (id: UserId) =>
        Effect.acquireUseRelease(
          enter(id),
          ({ suspended }) => Deferred.await(suspended),
          (entry) => leave(id, entry)
        )
    }
  })
}) {}
