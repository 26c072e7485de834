import { Chunk, Duration, Effect, Stream } from "effect"

// How long the end of the bytes may take after the last event.
const closingTime = Duration.millis(250)

/**
 * Ends after the last event, but waits a moment for the bytes to end too: a connection that was read to its end is used
 * again for the next answer, and one that was not is lost. What still comes in that moment is passed on.
 */
export const endAfterLast =
  <A>(isLast: (event: A) => boolean) =>
  <E>(events: Stream.Stream<A, E>): Stream.Stream<A, E> =>
    Stream.unwrapScoped(
      Effect.map(Stream.toPull(events), (pull) => {
        const chunks = Stream.repeatEffectOption(pull)
        const answer = Stream.takeUntil(chunks, Chunk.some(isLast))
        // The answer is whole by then; how its connection ends is nothing to it.
        const rest = chunks.pipe(
          Stream.interruptAfter(closingTime),
          Stream.catchAll(() => Stream.empty)
        )
        return Stream.flattenChunks(Stream.concat(answer, rest))
      })
    )
