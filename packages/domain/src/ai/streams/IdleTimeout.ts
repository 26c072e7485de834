import { Clock, Context, Duration, Effect, Exit, Fiber, FiberId, Runtime, Scope } from "effect"
import type { ChunkSource } from "./ChunkSource.ts"

export interface IdleTimeoutOptions<E> {
  /** Maximum time from the call to its first chunk. */
  readonly first: Duration.Duration
  /** Maximum time between two chunks. */
  readonly next: Duration.Duration
  /** Epoch milliseconds of the timeout of the whole answer. */
  readonly deadline: number
  readonly onTimeout: (reason: string) => E
}

/** Timeout of one answer. It runs only while the reader waits, so a slow reader never causes it. */
export interface IdleTimeout<E> {
  /** Waits for the first chunk in a fiber that the timeout interrupts. */
  readonly open: <A>(opening: Effect.Effect<A, E, Scope.Scope>) => Effect.Effect<A, E>
  /** Limits the further chunks, without a fiber: the timeout wakes the source, which then ends with its failure. */
  readonly limit: <A, E2>(source: ChunkSource<A, E2>) => ChunkSource<A, E | E2>
}

export interface IdleTimeouts {
  /** Starts a timeout, and opens within `scope`. */
  readonly start: <E>(options: IdleTimeoutOptions<E>, scope: Scope.Scope) => Effect.Effect<IdleTimeout<E>>
  /** Calls `expire` after this time, without a fiber. Returns a function that cancels the call. */
  readonly schedule: (after: Duration.Duration, expire: () => void) => () => void
}

interface Timer {
  /** Epoch milliseconds; infinite while the timer is not armed. */
  expiresAt: number
  hasExpired: boolean
  expire: () => void
}

/** Forks with a scope, since providing a scope to the current fiber takes twenty operations. */
const forkInScope = <A, E>(effect: Effect.Effect<A, E, Scope.Scope>, scope: Scope.Scope) =>
  Effect.withFiberRuntime<Fiber.RuntimeFiber<A, E>>((fiber) => {
    const runtime = Runtime.make({
      context: Context.add(fiber.currentContext, Scope.Scope, scope),
      fiberRefs: fiber.getFiberRefs(),
      runtimeFlags: Runtime.defaultRuntimeFlags
    })
    return Effect.succeed(Runtime.runFork(runtime)(effect, { immediate: false }))
  })

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

  const start = <E>({ deadline, first, next, onTimeout }: IdleTimeoutOptions<E>, scope: Scope.Scope) =>
    Effect.suspend(() => {
      const timer: Timer = { expiresAt: Number.POSITIVE_INFINITY, hasExpired: false, expire: () => {} }
      let isFirst = true
      let isLast = false
      timers.add(timer)

      const makeFailure = () => {
        const idle = isFirst ? `no answer within ${Duration.format(first)}` : `no chunk within ${Duration.format(next)}`
        return onTimeout(isLast ? "the answer takes too long" : idle)
      }
      const [firstMs, nextMs] = [Duration.toMillis(first), Duration.toMillis(next)]
      const arm = (expire: () => void): boolean => {
        const now = clock.unsafeCurrentTimeMillis()
        const limit = isFirst ? firstMs : nextMs
        isLast = deadline - now < limit
        timer.hasExpired = now >= deadline
        if (timer.hasExpired) return false
        timer.expire = expire
        timer.expiresAt = isLast ? deadline : now + limit
        if (timer.expiresAt < wakesAt) isRescheduled.unsafeOpen()
        return true
      }
      const disarm = () => {
        timer.expiresAt = Number.POSITIVE_INFINITY
      }

      const awaitOpening = <A>(fiber: Fiber.RuntimeFiber<A, E>) =>
        Effect.async<A, E>((resume) => {
          const interrupt = () => fiber.unsafeInterruptAsFork(FiberId.none)
          // Armed before the observer, which disarms it, since the fiber may already have ended.
          const isArmed = arm(interrupt)
          fiber.addObserver((exit) => {
            disarm()
            if (timer.hasExpired && Exit.isInterrupted(exit)) return resume(Effect.failSync(makeFailure))
            isFirst = false
            resume(exit)
          })
          if (!isArmed) interrupt()
          return Fiber.interrupt(fiber)
        })

      const timeout: IdleTimeout<E> = {
        open: (opening) => Effect.flatMap(forkInScope(opening, scope), awaitOpening),
        limit: (source) => {
          timer.hasExpired = false
          return {
            ...source,
            // A poll without a batch is followed by a wait.
            poll: () => {
              disarm()
              const batch = source.poll()
              if (batch !== null || (!timer.hasExpired && arm(source.wake))) return batch
              return { values: [], isDone: true, failure: makeFailure() }
            }
          }
        }
      }
      const forget = Effect.sync(() => timers.delete(timer))
      return Effect.as(Scope.addFinalizer(scope, forget), timeout)
    })
  return { start, schedule }
})
