import { Chunk, Effect, Option, type Scope, Stream } from "effect"
import type { ChunkSource } from "./ChunkSource.ts"

/**
 * Hot path: reads the next values; null at the end. A single fiber reads. A stage of a `Stream` would take a hundred
 * operations to build.
 */
export type ChunkReader<A, E = never> = Effect.Effect<ReadonlyArray<A> | null, E>

export const mapReader = <A, E, B>(
  read: ChunkReader<A, E>,
  map: (values: ReadonlyArray<A>) => ReadonlyArray<B>
): ChunkReader<B, E> => Effect.map(read, (values) => (values === null ? null : map(values)))

/** Replaces a failure with one final value. */
export const catchReader = <A, E>(
  read: ChunkReader<A, E>,
  toLast: (failure: E) => Effect.Effect<A>
): ChunkReader<A> => {
  let isOver = false
  const next = Effect.catchAll(read, (failure) =>
    Effect.map(toLast(failure), (last) => {
      isOver = true
      return [last]
    })
  )
  return Effect.suspend(() => (isOver ? Effect.succeed(null) : next))
}

/** Reads to the end and returns the last value. */
export const readLast = <A, E>(read: ChunkReader<A, E>): Effect.Effect<A | undefined, E> => {
  const next = (last: A | undefined): Effect.Effect<A | undefined, E> =>
    Effect.flatMap(read, (values) => (values === null ? Effect.succeed(last) : next(values.at(-1) ?? last)))
  return next(undefined)
}

export const readerFromValues = <A>(values: ReadonlyArray<A>): ChunkReader<A> => {
  let rest: ReadonlyArray<A> | null = values
  return Effect.sync(() => {
    const batch = rest
    rest = null
    return batch
  })
}

/** Reads these values, then the rest. */
export const prependReader = <A, E>(values: ReadonlyArray<A>, read: ChunkReader<A, E>): ChunkReader<A, E> => {
  let isBegun = false
  return Effect.suspend((): ChunkReader<A, E> => {
    if (isBegun) return read
    isBegun = true
    return Effect.succeed(values)
  })
}

export const streamFromReader = <A, E>(read: ChunkReader<A, E>): Stream.Stream<A, E> =>
  Stream.fromPull(
    Effect.succeed(
      Effect.flatMap(Effect.mapError(read, Option.some), (values) =>
        values === null ? Effect.fail(Option.none()) : Effect.succeed(Chunk.unsafeFromArray(values))
      )
    )
  )

export const readerFromSource = <A, E>({ awaitMore, poll }: ChunkSource<A, E>): ChunkReader<A, E> => {
  const next: ChunkReader<A, E> = Effect.suspend(() => {
    for (;;) {
      const batch = poll()
      if (batch === null) return awaited
      if (batch.values.length > 0) return Effect.succeed(batch.values)
      if (batch.isDone) return batch.failure === undefined ? Effect.succeed(null) : Effect.fail(batch.failure)
    }
  })
  const awaited = Effect.flatMap(awaitMore, () => next)
  return next
}

/** Reads a stream; closing the scope ends it. */
export const readerFromStream = <A, E>(
  stream: Stream.Stream<A, E>
): Effect.Effect<ChunkReader<A, E>, never, Scope.Scope> =>
  Effect.map(Stream.toPull(stream), (pull) =>
    Effect.catchAll(
      Effect.map(pull, (chunk): ReadonlyArray<A> | null => Chunk.toReadonlyArray(chunk)),
      Option.match({ onNone: () => Effect.succeed(null), onSome: (failure: E) => Effect.fail(failure) })
    )
  )
