import { Deferred, Duration, Effect, FiberId, type Scope } from "effect"

/** A turn's place among the turns of its session in this process. */
export interface TurnTicket {
  /**
   * Waits until it is worth looking again whether every earlier turn has ended: until one of them has ended here; or, when
   * those that are left run elsewhere, for a pause that grows with the looks so far.
   */
  readonly wait: (looks: number) => Effect.Effect<void>
}

export interface TurnQueue {
  /** Takes a place, and gives it up with the scope, which wakes the first of those who wait. */
  readonly enter: (sessionId: string, seq: number) => Effect.Effect<TurnTicket, never, Scope.Scope>
}

/** Also who is to be woken looks again after this long, in case that the one before ended and nobody noticed. */
const atMost = Duration.seconds(5)
const first = Duration.millis(50)
const longest = Duration.seconds(1)

/** How long a turn waits for those of other processes before it looks again. */
export const computeTurnPollDelay = (looks: number): Duration.Duration =>
  Duration.min(Duration.times(first, 2 ** Math.min(looks, 10)), longest)

/** The turns of this process, by session, as they wait for each other. The rows say whose turn it is; this only says when to look. */
export const make: Effect.Effect<TurnQueue> = Effect.sync(() => {
  const lines = new Map<string, Map<number, Deferred.Deferred<void> | undefined>>()

  const join = (sessionId: string, seq: number) => {
    const line = lines.get(sessionId) ?? new Map<number, Deferred.Deferred<void> | undefined>()
    lines.set(sessionId, line)
    line.set(seq, undefined)
    return line
  }

  const leave = (sessionId: string, seq: number, line: Map<number, Deferred.Deferred<void> | undefined>) => {
    line.delete(seq)
    if (line.size === 0) lines.delete(sessionId)
    const [next] = [...line].toSorted(([one], [other]) => one - other)
    if (next?.[1] !== undefined) Deferred.unsafeDone(next[1], Effect.void)
  }

  return {
    enter: (sessionId, seq) =>
      Effect.acquireRelease(
        Effect.sync(() => join(sessionId, seq)),
        (line) => Effect.sync(() => leave(sessionId, seq, line))
      ).pipe(
        Effect.map((line) => ({
          wait: (looks) =>
            Effect.suspend(() => {
              const woken = Deferred.unsafeMake<void>(FiberId.none)
              line.set(seq, woken)
              const isBehind = [...line.keys()].some((other) => other < seq)
              return Effect.timeoutOption(Deferred.await(woken), isBehind ? atMost : computeTurnPollDelay(looks))
            })
        }))
      )
  }
})
