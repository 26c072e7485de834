import { Clock, Duration, Effect, Exit, Fiber, FiberId, type Scope } from "effect"

export interface IdleTimeoutOptions<E> {
  /** For the first piece, and between any two after that. */
  readonly first: Duration.Duration
  readonly next: Duration.Duration
  /** Epoch milliseconds after which no piece is waited for. */
  readonly deadline: number
  readonly onTimeout: (reason: string) => E
}

export interface IdleTimeout<E> {
  /** Waits for the next piece, as long as it may take. One at a time. */
  readonly apply: <A>(piece: Effect.Effect<A, E>) => Effect.Effect<A, E>
}

interface Waiting {
  /** Epoch milliseconds. */
  readonly until: number
  readonly giveUp: () => void
}

export interface TimeoutWatcher {
  /** How long to wait for the pieces of one answer. */
  readonly start: <E>(options: IdleTimeoutOptions<E>) => IdleTimeout<E>
}

/**
 * Ends what was waited for too long. One fiber for all answers, which sleeps until the first of them could be late: a timer
 * and a race for each piece, or a fiber for each answer, is most of what passing it on costs.
 */
export const makeTimeoutWatcher: Effect.Effect<TimeoutWatcher, never, Scope.Scope> = Effect.gen(function* () {
  const waits = new Set<Waiting>()
  const someWait = yield* Effect.makeLatch(false)
  let looksAt = Number.POSITIVE_INFINITY

  const look: Effect.Effect<unknown> = Effect.flatMap(Clock.currentTimeMillis, (now) => {
    looksAt = Number.POSITIVE_INFINITY
    for (const wait of waits) {
      if (wait.until > now) looksAt = Math.min(looksAt, wait.until)
      else {
        waits.delete(wait)
        wait.giveUp()
      }
    }
    someWait.unsafeClose()
    return waits.size === 0
      ? someWait.await
      : Effect.raceFirst(Effect.sleep(Duration.millis(looksAt - now)), someWait.await)
  })
  yield* Effect.forkScoped(Effect.interruptible(Effect.forever(look)))

  const add = (wait: Waiting) => {
    waits.add(wait)
    // Whoever is waited for later than that is seen by then.
    if (wait.until < looksAt) someWait.unsafeOpen()
  }

  const start = <E>({ deadline, onTimeout, first, next }: IdleTimeoutOptions<E>): IdleTimeout<E> => {
    let isFirst = true

    const reasonOf = (isLast: boolean) => {
      if (isLast) return "the answer takes too long"
      return isFirst ? `no answer within ${Duration.format(first)}` : `nothing came for ${Duration.format(next)}`
    }

    const waitFor = <A>(fiber: Fiber.RuntimeFiber<A, E>, until: number, isLast: boolean): Effect.Effect<A, E> => {
      let isLate = false
      const wait: Waiting = {
        until,
        giveUp: () => {
          isLate = true
          fiber.unsafeInterruptAsFork(FiberId.none)
        }
      }
      add(wait)
      return Effect.flatMap(
        Effect.onExit(Fiber.await(fiber), (exit) => {
          waits.delete(wait)
          return Exit.isFailure(exit) ? Fiber.interrupt(fiber) : Effect.void
        }),
        (exit) => {
          if (isLate && Exit.isInterrupted(exit)) return Effect.fail(onTimeout(reasonOf(isLast)))
          isFirst = false
          return exit
        }
      )
    }

    return {
      apply: (piece) =>
        Effect.flatMap(Clock.currentTimeMillis, (now) => {
          const limit = Duration.toMillis(isFirst ? first : next)
          const isLast = deadline - now < limit
          if (now >= deadline) return Effect.fail(onTimeout(reasonOf(isLast)))
          // Interruptible wherever this runs: what cannot be ended cannot be given up.
          return Effect.flatMap(Effect.fork(Effect.interruptible(piece)), (fiber) =>
            waitFor(fiber, isLast ? deadline : now + limit, isLast)
          )
        })
    }
  }
  return { start }
})
