import { Clock, Duration, Effect, HashMap, Option, Ref } from "effect"
import type { UserId } from "../shared/UserId.ts"

const crashWindow = Duration.minutes(10)
const maximumCrashes = 5

/** Returns the delay after the n-th crash within the window (n from 1), or the end of restarts. */
export const decideRestart = (crashes: number): { readonly restartAfter: Duration.Duration } | "give-up" =>
  crashes > maximumCrashes ? "give-up" : { restartAfter: Duration.millis(250 * 2 ** (crashes - 1)) }

/** Crashes of each owner's instance within the crash window. In memory: another backend starts at zero. */
export class CrashHistory extends Effect.Service<CrashHistory>()("@berth/CrashHistory", {
  effect: Effect.map(Ref.make(HashMap.empty<UserId, ReadonlyArray<number>>()), (crashes) => ({
    /** Adds a crash and returns the number within the window. */
    add: (userId: UserId) =>
      Effect.flatMap(Clock.currentTimeMillis, (now) =>
        Ref.modify(crashes, (all) => {
          const since = now - Duration.toMillis(crashWindow)
          const earlier = Option.getOrElse(HashMap.get(all, userId), () => [])
          const recent = [...earlier.filter((at) => at > since), now]
          return [recent.length, HashMap.set(all, userId, recent)]
        })
      ),
    isEmpty: (userId: UserId) => Effect.map(Ref.get(crashes), (all) => !HashMap.has(all, userId)),
    clear: (userId: UserId) => Ref.update(crashes, HashMap.remove(userId))
  }))
}) {}
