import { Clock, Duration, Effect, type Scope } from "effect"
import type { ChunkSource } from "./ChunkSource.ts"

interface IdleTimeoutOptions<E> {
  /** Maximum time to the first chunk. */
  readonly first: Duration.Duration
  /** Maximum time between two chunks. */
  readonly next: Duration.Duration
  /** Epoch milliseconds of the timeout of the whole answer. */
  readonly deadline: number
  readonly onTimeout: (reason: string) => E
}

/** A source that fails if its reader waits too long. */
interface LimitedSource<A, E> extends ChunkSource<A, E> {
  /** Forgets the timer. Idempotent. */
  readonly end: () => void
}

export interface IdleTimeouts {
  /**
   * Limits the waits for a source, without a fiber: the timeout wakes the source, which then ends with its failure. It
   * runs only while the reader waits, so a slow reader never causes it.
   */
  readonly limit: <A, E, E2>(source: ChunkSource<A, E>, options: IdleTimeoutOptions<E2>) => LimitedSource<A, E | E2>
  /** Calls `expire` after this time, without a fiber. Returns a function that cancels the call. */
  readonly schedule: (after: Duration.Duration, expire: () => void) => () => void
}

interface Timer {
  /** Epoch milliseconds; infinite while the timer is not armed. */
  expiresAt: number
  hasExpired: boolean
  expire: () => void
}

/** Timers of all answers. One fiber sleeps until the earliest expiry, so arming a timer only sets a number. */
export const makeIdleTimeouts: Effect.Effect<IdleTimeouts, never, Scope.Scope> = Effect.gen(function* () {
  const timers = new Set<Timer>()
  const isRescheduled = yield* Effect.makeLatch(false)
  let wakesAt = Number.POSITIVE_INFINITY

  const expireTimers: Effect.Effect<unknown> = Effect.flatMap(Clock.currentTimeMillis, (now) => {
    wakesAt = Number.POSITIVE_INFINITY
    for (const timer of timers) {
      if (timer.expiresAt > now) wakesAt = Math.min(wakesAt, timer.expiresAt)
      else {
        timer.expiresAt = Number.POSITIVE_INFINITY
        timer.hasExpired = true
        timer.expire()
      }
    }
    isRescheduled.unsafeClose()
    return wakesAt === Number.POSITIVE_INFINITY
      ? isRescheduled.await
      : Effect.raceFirst(Effect.sleep(Duration.millis(wakesAt - now)), isRescheduled.await)
  })
  yield* Effect.forkScoped(Effect.interruptible(Effect.forever(expireTimers)))

  const clock = yield* Effect.clock
  const schedule = (after: Duration.Duration, expire: () => void) => {
    const timer: Timer = {
      expiresAt: clock.unsafeCurrentTimeMillis() + Duration.toMillis(after),
      hasExpired: false,
      expire: () => {
        timers.delete(timer)
        expire()
      }
    }
    timers.add(timer)
    if (timer.expiresAt < wakesAt) isRescheduled.unsafeOpen()
    return () => {
      timers.delete(timer)
    }
  }

  const limit = <A, E, E2>(
    source: ChunkSource<A, E>,
    { deadline, first, next, onTimeout }: IdleTimeoutOptions<E2>
  ): LimitedSource<A, E | E2> => {
    const timer: Timer = { expiresAt: Number.POSITIVE_INFINITY, hasExpired: false, expire: source.wake }
    timers.add(timer)
    let isFirst = true
    let isLast = false
    const [firstMs, nextMs] = [Duration.toMillis(first), Duration.toMillis(next)]

    const makeFailure = () => {
      const idle = isFirst ? `no answer within ${Duration.format(first)}` : `no chunk within ${Duration.format(next)}`
      return onTimeout(isLast ? "the answer takes too long" : idle)
    }
    const arm = (): boolean => {
      const now = clock.unsafeCurrentTimeMillis()
      const limitMs = isFirst ? firstMs : nextMs
      isLast = deadline - now < limitMs
      timer.hasExpired = now >= deadline
      if (timer.hasExpired) return false
      timer.expiresAt = isLast ? deadline : now + limitMs
      if (timer.expiresAt < wakesAt) isRescheduled.unsafeOpen()
      return true
    }
    return {
      end: () => {
        timers.delete(timer)
      },
      ...source,
      // Without a batch the reader waits next.
      poll: () => {
        timer.expiresAt = Number.POSITIVE_INFINITY
        const batch = source.poll()
        if (batch !== null) isFirst = false
        if (batch !== null || (!timer.hasExpired && arm())) return batch
        return { values: [], isDone: true, failure: makeFailure() }
      }
    }
  }
  return { limit, schedule }
})
