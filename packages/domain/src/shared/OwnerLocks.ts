import { Effect } from "effect"
import type { UserId } from "./UserId.ts"

/** Limits the concurrent calls for one owner in this process, in their order. `RcMap` would let a later call pass the first one. */
export const makeLimited = (concurrency: number) =>
  Effect.sync(() => {
    const locks = new Map<UserId, { readonly semaphore: Effect.Semaphore; calls: number }>()

    return <A, E, R>(owner: UserId, work: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
      Effect.uninterruptibleMask((restore) => {
        const lock = locks.get(owner) ?? { semaphore: Effect.unsafeMakeSemaphore(concurrency), calls: 0 }
        locks.set(owner, lock)
        lock.calls += 1
        const leave = Effect.sync(() => {
          lock.calls -= 1
          if (lock.calls === 0) locks.delete(owner)
        })
        return Effect.ensuring(restore(lock.semaphore.withPermits(1)(work)), leave)
      })
  })

/** Serializes the calls for one owner. */
export const make = makeLimited(1)
