import { Chunk, Clock, Duration, Effect, Option, Stream } from "effect"

// How long the end of the bytes may take after the last event.
const closingTime = Duration.millis(250)

/**
 * Ends after the last event, but waits a moment for the bytes to end too: a connection that was read to its end is used
 * again for the next answer, and one that was not is lost. What still comes in that moment is passed on.
 */
export const endAfterLast =
  <A>(isLast: (event: A) => boolean) =>
  <E>(events: Stream.Stream<A, E>): Stream.Stream<A, E> =>
    Stream.fromPull(
      Effect.map(Stream.toPull(events), (pull) => {
        // Epoch milliseconds at which nothing is waited for any more; null until the last event was there.
        let closesAt: number | null = null
        let isClosing = false
        const over = Effect.fail(Option.none<E>())
        const answer = Effect.map(pull, (chunk) => {
          isClosing = Chunk.some(chunk, isLast)
          return chunk
        })
        // The answer is whole by then; how its connection ends is nothing to it.
        const rest = Effect.gen(function* () {
          const now = yield* Clock.currentTimeMillis
          closesAt ??= now + Duration.toMillis(closingTime)
          const more = yield* Effect.interruptible(pull).pipe(Effect.timeoutOption(closesAt - now), Effect.option)
          return yield* Option.match(Option.flatten(more), { onNone: () => over, onSome: Effect.succeed })
        })
        return Effect.suspend(() => (isClosing ? rest : answer))
      })
    )
