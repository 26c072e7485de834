import { Deferred, Duration, Effect, FiberId, type Scope } from "effect"
import { acquireScoped } from "../../shared/AcquireScoped.ts"

export interface TurnTicket {
  /** Waits until an earlier turn of this process ends, or for a poll interval if the earlier turns run elsewhere. */
  readonly wait: (polls: number) => Effect.Effect<void>
}

export interface TurnQueue {
  /** Closing the scope wakes the next turn. */
  readonly enter: (sessionId: string, seq: number) => Effect.Effect<TurnTicket, never, Scope.Scope>
}

/** Maximum wait, in case of a lost wakeup. */
const longestWait = Duration.seconds(5)
const first = Duration.millis(50)
const longest = Duration.seconds(1)

export const computeTurnPollDelay = (polls: number): Duration.Duration =>
  Duration.min(Duration.times(first, 2 ** Math.min(polls, 10)), longest)

/** Wakes waiting turns of this process. The rows determine the order. */
export const make: Effect.Effect<TurnQueue> = Effect.sync(() => {
  const queues = new Map<string, Map<number, Deferred.Deferred<void> | undefined>>()

  const join = (sessionId: string, seq: number) => {
    const queue = queues.get(sessionId) ?? new Map<number, Deferred.Deferred<void> | undefined>()
    queues.set(sessionId, queue)
    queue.set(seq, undefined)
    return queue
  }

  const leave = (sessionId: string, seq: number, queue: Map<number, Deferred.Deferred<void> | undefined>) => {
    queue.delete(seq)
    if (queue.size === 0) queues.delete(sessionId)
    const [next] = [...queue].toSorted(([a], [b]) => a - b)
    if (next?.[1] !== undefined) Deferred.unsafeDone(next[1], Effect.void)
  }

  return {
    enter: (sessionId, seq) =>
      acquireScoped(
        Effect.sync(() => join(sessionId, seq)),
        (queue) => Effect.sync(() => leave(sessionId, seq, queue))
      ).pipe(
        Effect.map((queue) => ({
          wait: (polls) =>
            Effect.suspend(() => {
              const woken = Deferred.unsafeMake<void>(FiberId.none)
              queue.set(seq, woken)
              const isBehind = [...queue.keys()].some((other) => other < seq)
              return Effect.timeoutOption(Deferred.await(woken), isBehind ? longestWait : computeTurnPollDelay(polls))
            })
        }))
      )
  }
})
