import { Clock, Duration, Effect, Option } from "effect"
import type { ChunkSource } from "./ChunkStage.ts"

// How long the end of the bytes may take after the last event.
const closeTimeout = Duration.millis(250)

/**
 * Ends after the last event, but waits a moment for the bytes to end too: a connection that was read to its end is used
 * again for the next answer, and one that was not is lost. What still comes in that moment is passed on.
 */
export const endAfterLast = <A, E>(events: ChunkSource<A, E>, isLast: (event: A) => boolean): ChunkSource<A, E> => {
  // Epoch milliseconds at which nothing is waited for any more; null until that is asked for.
  let closesAt: number | null = null
  let isClosing = false
  let isClosed = false
  const rest = Effect.gen(function* () {
    const now = yield* Clock.currentTimeMillis
    closesAt ??= now + Duration.toMillis(closeTimeout)
    const come = yield* Effect.timeoutOption(Effect.interruptible(events.awaitMore), closesAt - now)
    isClosed = Option.isNone(come)
  })
  return {
    poll: () => {
      const taken = events.poll()
      if (taken === null) return isClosed ? { values: [], isDone: true } : null
      isClosing ||= taken.values.some(isLast)
      // The answer is whole by then; how its connection ends is nothing to it.
      return isClosing && taken.failure !== undefined ? { values: taken.values, isDone: true } : taken
    },
    awaitMore: Effect.suspend(() => (isClosing ? rest : events.awaitMore)),
    wake: events.wake
  }
}
