import { Effect } from "effect"
import type { UserId } from "./UserId.ts"

interface Call {
  isAdmitted: boolean
  wake: () => void
}

interface Lock {
  admitted: number
  readonly waiting: Array<Call>
}

/**
 * Limits the concurrent calls for one owner in this process, in their order. Hot path: a semaphore takes four times the
 * operations.
 */
export const makeLimited = (concurrency: number) =>
  Effect.sync(() => {
    const locks = new Map<UserId, Lock>()

    const enter = (lock: Lock): Call => {
      const call = { isAdmitted: lock.admitted < concurrency, wake: () => {} }
      if (call.isAdmitted) lock.admitted += 1
      else lock.waiting.push(call)
      return call
    }

    const leave = (owner: UserId, lock: Lock, call: Call) => {
      const next = call.isAdmitted ? lock.waiting.shift() : undefined
      if (!call.isAdmitted) lock.waiting.splice(lock.waiting.indexOf(call), 1)
      else if (next === undefined) lock.admitted -= 1
      else {
        next.isAdmitted = true
        next.wake()
      }
      if (lock.admitted === 0) locks.delete(owner)
    }

    return <A, E, R>(owner: UserId, work: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
      Effect.uninterruptibleMask((restore) => {
        const lock = locks.get(owner) ?? { admitted: 0, waiting: [] }
        locks.set(owner, lock)
        const call = enter(lock)
        const admission = Effect.async<void>((resume) => {
          call.wake = () => resume(Effect.void)
          if (call.isAdmitted) call.wake()
        })
        return Effect.matchCauseEffect(restore(call.isAdmitted ? work : Effect.zipRight(admission, work)), {
          onFailure: (cause) => {
            leave(owner, lock, call)
            return Effect.failCause(cause)
          },
          onSuccess: (value) => {
            leave(owner, lock, call)
            return Effect.succeed(value)
          }
        })
      })
  })

/** Serializes the calls for one owner. */
export const make = makeLimited(1)
