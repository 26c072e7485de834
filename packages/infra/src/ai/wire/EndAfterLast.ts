import { Chunk, Clock, Duration, Effect, Option } from "effect"
import type { Pull } from "./Pull.ts"

// How long the end of the bytes may take after the last event.
const closingTime = Duration.millis(250)

/**
 * Ends after the last event, but waits a moment for the bytes to end too: a connection that was read to its end is used
 * again for the next answer, and one that was not is lost. What still comes in that moment is passed on.
 */
export const endAfterLast = <A, E>(events: Pull<A, E>, isLast: (event: A) => boolean): Pull<A, E> => {
  // Epoch milliseconds at which nothing is waited for any more; null until the last event was there.
  let closesAt: number | null = null
  let isClosing = false
  const answer = Effect.map(events, (chunk) => {
    isClosing = Chunk.some(chunk, isLast)
    return chunk
  })
  // The answer is whole by then; how its connection ends is nothing to it.
  const rest = Effect.gen(function* () {
    const now = yield* Clock.currentTimeMillis
    closesAt ??= now + Duration.toMillis(closingTime)
    const more = yield* Effect.interruptible(events).pipe(Effect.timeoutOption(closesAt - now), Effect.option)
    return yield* Effect.mapError(Option.flatten(more), () => Option.none<E>())
  })
  return Effect.suspend(() => (isClosing ? rest : answer))
}
