import { Chunk, Effect, Option, type Scope, Stream } from "effect"

/** What has come of something that comes piece by piece. */
export interface ChunkBatch<A, E> {
  readonly values: ReadonlyArray<A>
  /** Nothing comes after these values. */
  readonly isDone: boolean
  /** Why it broke off, where it did not come to its end. */
  readonly failure?: E | undefined
}

/**
 * What comes piece by piece, for whoever asks for it. What has come is taken without an effect: an answer has hundreds of
 * pieces, and an effect for each of them in each of many stages is most of what passing it on costs.
 */
export interface ChunkSource<A, E> {
  /** What has come since it was last asked for; null when nothing has. Its end is told again to who asks again. */
  readonly poll: () => ChunkBatch<A, E> | null
  /** Waits for more. There may be nothing to take after that. */
  readonly awaitMore: Effect.Effect<void>
}

/** Waits until there is something to take, and takes it. */
export const readNext = <A, E>({ awaitMore, poll }: ChunkSource<A, E>): Effect.Effect<ChunkBatch<A, E>> => {
  const next: Effect.Effect<ChunkBatch<A, E>> = Effect.suspend(() => {
    const taken = poll()
    return taken === null ? Effect.flatMap(awaitMore, () => next) : Effect.succeed(taken)
  })
  return next
}

/** Takes what one waits for with `next`; `come` then ends when there is something. */
const kept = <A, E>(next: Effect.Effect<ChunkBatch<A, E>>): ChunkSource<A, E> => {
  let held: ChunkBatch<A, E> | null = null
  const hold = Effect.map(next, (taken) => {
    held = taken
  })
  return {
    poll: () => {
      const taken = held
      held = taken?.isDone === true ? { ...taken, values: [] } : null
      return taken
    },
    awaitMore: Effect.suspend(() => (held === null ? hold : Effect.void))
  }
}

/** A pull as a stream. */
export const streamFromSource = <A, E>(pull: ChunkSource<A, E>): Stream.Stream<A, E> => {
  let end: Effect.Effect<never, Option.Option<E>> | null = null
  const next: Effect.Effect<Chunk.Chunk<A>, Option.Option<E>> = Effect.suspend(
    () =>
      end ??
      Effect.flatMap(readNext(pull), ({ failure, isDone, values }) => {
        if (isDone) end = Effect.fail(Option.fromNullable(failure))
        return values.length > 0 ? Effect.succeed(Chunk.unsafeFromArray(values)) : next
      })
  )
  return Stream.fromPull(Effect.succeed(next))
}

/** A stream as a pull. The scope ends it. */
export const makeChunkSource = <A, E>(
  stream: Stream.Stream<A, E>
): Effect.Effect<ChunkSource<A, E>, never, Scope.Scope> =>
  Effect.map(Stream.toPull(stream), (next) =>
    kept(
      Effect.match(next, {
        onSuccess: (chunk): ChunkBatch<A, E> => ({ values: Chunk.toReadonlyArray(chunk), isDone: false }),
        onFailure: (failure) => ({ values: [], isDone: true, failure: Option.getOrUndefined(failure) })
      })
    )
  )
