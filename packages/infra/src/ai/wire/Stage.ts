import { Chunk, Effect, Option, Stream } from "effect"

/** What a stage makes of what has come: values, and behind them perhaps a failure. */
export interface Made<B, E> {
  readonly values: ReadonlyArray<B>
  readonly failure?: E | undefined
}

export interface Stage<A, B, E> {
  readonly step: (given: Chunk.Chunk<A>) => Made<B, E>
  /** What there still is when nothing more comes. */
  readonly end: () => Made<B, E>
}

/**
 * A stage of a stream that is worked off at once for all that has come together, with what it remembers in plain
 * variables: an answer has hundreds of pieces, and an effect for each of them in each of many stages is most of what
 * passing it on costs.
 */
export const throughStage =
  <A, B, E2>(make: () => Stage<A, B, E2>) =>
  <E, R>(stream: Stream.Stream<A, E, R>): Stream.Stream<B, E | E2, R> =>
    Stream.fromPull(
      Effect.map(Stream.toPull(stream), (pull) => {
        const { end, step } = make()
        let rest: Effect.Effect<never, Option.Option<E | E2>> | null = null
        const give = (
          { failure, values }: Made<B, E2>,
          isOver: boolean
        ): Effect.Effect<Chunk.Chunk<B>, Option.Option<E | E2>, R> => {
          if (failure !== undefined) rest = Effect.fail(Option.some(failure))
          else if (isOver) rest = Effect.fail(Option.none())
          return values.length > 0 ? Effect.succeed(Chunk.unsafeFromArray(values)) : (rest ?? next)
        }
        const pulled = Effect.matchEffect(pull, {
          onSuccess: (given) => give(step(given), false),
          onFailure: (failure): Effect.Effect<Chunk.Chunk<B>, Option.Option<E | E2>, R> =>
            Option.isSome(failure) ? Effect.fail(failure) : give(end(), true)
        })
        const next: Effect.Effect<Chunk.Chunk<B>, Option.Option<E | E2>, R> = Effect.suspend(() => rest ?? pulled)
        return next
      })
    )
