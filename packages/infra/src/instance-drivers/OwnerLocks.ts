import type { UserId } from "@berth/domain/shared/UserId"
import { Effect, RcMap } from "effect"

/** Serializes the calls for one owner. */
export const make = Effect.map(
  RcMap.make({ lookup: (_: UserId) => Effect.makeSemaphore(1) }),
  (locks) =>
    <A, E, R>(owner: UserId, work: Effect.Effect<A, E, R>) =>
      Effect.scoped(Effect.flatMap(RcMap.get(locks, owner), (lock) => lock.withPermits(1)(work)))
)
