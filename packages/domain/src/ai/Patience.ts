import { Clock, Duration, Effect, Exit, Fiber, type Scope } from "effect"

export interface PatienceOptions<E> {
  /** For the first piece, and between any two after that. */
  readonly first: Duration.Duration
  readonly next: Duration.Duration
  /** Epoch milliseconds after which no piece is waited for. */
  readonly deadline: number
  readonly expired: (reason: string) => E
}

export interface Patience<E> {
  /** Waits for the next piece, as long as it may take. One at a time. */
  readonly within: <A>(piece: Effect.Effect<A, E>) => Effect.Effect<A, E>
}

interface Waiting {
  readonly fiber: Fiber.Fiber<unknown, unknown>
  /** Epoch milliseconds. */
  readonly until: number
  readonly reason: string
}

/**
 * How long to wait for the pieces of an answer. One watch for all of them, since a timer and a race for each is most of
 * what passing it on costs.
 */
export const makePatience = <E>({
  deadline,
  expired,
  first,
  next
}: PatienceOptions<E>): Effect.Effect<Patience<E>, never, Scope.Scope> =>
  Effect.gen(function* () {
    let limit = first
    let silence = `no answer within ${Duration.format(first)}`
    let waiting: Waiting | null = null
    let verdict: string | null = null

    // Looks again when the wait of now is over, or no later than the next one could be.
    const look: Effect.Effect<void> = Effect.flatMap(Clock.currentTimeMillis, (now) => {
      if (waiting === null) {
        const soonest = Duration.min(first, next)
        return Effect.sleep(now < deadline ? Duration.min(soonest, Duration.millis(deadline - now)) : soonest)
      }
      if (now < waiting.until) return Effect.sleep(Duration.millis(waiting.until - now))
      verdict = waiting.reason
      const { fiber } = waiting
      waiting = null
      return Fiber.interruptFork(fiber)
    })
    yield* Effect.forkScoped(Effect.interruptible(Effect.forever(look)))

    const within = <A>(piece: Effect.Effect<A, E>): Effect.Effect<A, E> =>
      Effect.gen(function* () {
        const now = yield* Clock.currentTimeMillis
        const isLast = deadline - now < Duration.toMillis(limit)
        const reason = isLast ? "the answer takes too long" : silence
        if (now >= deadline) return yield* Effect.fail(expired(reason))
        verdict = null
        // Interruptible wherever this runs: what cannot be ended cannot be given up.
        const fiber = yield* Effect.fork(Effect.interruptible(piece))
        waiting = { fiber, until: isLast ? deadline : now + Duration.toMillis(limit), reason }
        const exit = yield* Effect.onInterrupt(Fiber.await(fiber), () => Fiber.interrupt(fiber))
        waiting = null
        limit = next
        silence = `nothing came for ${Duration.format(next)}`
        if (verdict !== null && Exit.isInterrupted(exit)) return yield* Effect.fail(expired(verdict))
        return yield* exit
      })
    return { within }
  })
