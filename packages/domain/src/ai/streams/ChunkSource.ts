import { Cause, Chunk, Effect, Exit, FiberId, Option, Scope, Stream } from "effect"

/** The chunks that have arrived since the last poll. */
export interface ChunkBatch<A, E> {
  readonly values: ReadonlyArray<A>
  /** True if no value follows this batch. */
  readonly isDone: boolean
  /** Failure of a source that ended early. */
  readonly failure?: E | undefined
}

/** Hot path: a pull-based source. Values are polled without an Effect, since an answer has hundreds of deltas. */
export interface ChunkSource<A, E> {
  /** Returns the values since the last poll; null if there are none. After the end, every poll returns the end. */
  readonly poll: () => ChunkBatch<A, E> | null
  /** Waits until a poll may return values. Wakeups can be spurious. At most one wait at a time. */
  readonly awaitMore: Effect.Effect<void>
  /** Ends the current wait. Idempotent. */
  readonly wake: () => void
}

/** A source that holds resources until its opener closes it, also after its end. */
export interface OpenedSource<A, E> extends ChunkSource<A, E> {
  readonly close: Effect.Effect<void>
}

/** Suspends one fiber. It has no canceler, which would take ten operations per wait; a late wake is ignored. */
interface Wakeup {
  /** Ends at the next wake, or at once if values are available. */
  readonly wait: Effect.Effect<void>
  readonly wake: () => void
}

export const makeWakeup = (isReady: () => boolean): Wakeup => {
  let resume = () => {}
  const wake = () => {
    const waiting = resume
    resume = () => {}
    waiting()
  }
  return {
    wait: Effect.async<void>((end) => {
      resume = () => end(Effect.void)
      if (isReady()) wake()
    }),
    wake
  }
}

/** Waits until the source has values, and polls it. */
export const readNext = <A, E>({ awaitMore, poll }: ChunkSource<A, E>): Effect.Effect<ChunkBatch<A, E>> => {
  const next: Effect.Effect<ChunkBatch<A, E>> = Effect.suspend(() => {
    const batch = poll()
    return batch === null ? Effect.flatMap(awaitMore, () => next) : Effect.succeed(batch)
  })
  return next
}

export const streamFromSource = <A, E>(source: ChunkSource<A, E>): Stream.Stream<A, E> => {
  let end: Effect.Effect<never, Option.Option<E>> | null = null
  const next: Effect.Effect<Chunk.Chunk<A>, Option.Option<E>> = Effect.suspend(
    () =>
      end ??
      Effect.flatMap(readNext(source), ({ failure, isDone, values }) => {
        if (isDone) end = Effect.fail(Option.fromNullable(failure))
        return values.length > 0 ? Effect.succeed(Chunk.unsafeFromArray(values)) : next
      })
  )
  return Stream.fromPull(Effect.succeed(next))
}

/** Reads to the end; runs an effect only for the batches that need one. */
export const forEachBatch = <A, E, E2 = never, R = never>(
  { awaitMore, poll }: ChunkSource<A, E>,
  handle: (values: ReadonlyArray<A>) => Effect.Effect<void, E2, R> | undefined
): Effect.Effect<void, E | E2, R> => {
  const next: Effect.Effect<void, E | E2, R> = Effect.suspend(() => {
    for (;;) {
      const batch = poll()
      if (batch === null) return awaited
      const handled = batch.values.length === 0 ? undefined : handle(batch.values)
      const { failure, isDone } = batch
      if (isDone) {
        const end = failure === undefined ? Effect.void : Effect.fail(failure)
        return handled === undefined ? end : Effect.zipRight(handled, end)
      }
      if (handled !== undefined) return Effect.zipRight(handled, next)
    }
  })
  const awaited = Effect.flatMap(awaitMore, () => next)
  return next
}

export const mapBatches = <A, E, B, E2>(
  source: ChunkSource<A, E>,
  map: (batch: ChunkBatch<A, E>) => ChunkBatch<B, E2>
): ChunkSource<B, E2> => ({
  ...source,
  poll: () => {
    const batch = source.poll()
    return batch === null ? null : map(batch)
  }
})

export const mapChunkFailure = <A, E, E2>(source: ChunkSource<A, E>, map: (failure: E) => E2): ChunkSource<A, E2> =>
  mapBatches(source, ({ failure, isDone, values }) => ({
    values,
    isDone,
    failure: failure === undefined ? undefined : map(failure)
  }))

/** A source of one batch, which can be a failure. */
export const makeSingleChunkSource = <A, E = never>(values: ReadonlyArray<A>, failure?: E): OpenedSource<A, E> => {
  let rest = values
  return {
    poll: () => {
      const batch = rest
      rest = []
      return { values: batch, isDone: true, failure }
    },
    awaitMore: Effect.void,
    wake: () => {},
    close: Effect.void
  }
}

/** Continues with the source made of the first value. Ends with the first source if that has no value. */
export const continueSource = <A, E, B, E2>(
  first: ChunkSource<A, E>,
  toNext: (value: A) => ChunkSource<B, E2>
): ChunkSource<B, E | E2> => {
  let next: ChunkSource<B, E2> | null = null
  return {
    poll: () => {
      if (next !== null) return next.poll()
      const batch = first.poll()
      if (batch === null) return null
      const { failure, isDone, values } = batch
      if (values[0] === undefined) return { values: [], isDone, failure }
      next = toNext(values[0])
      return next.poll()
    },
    awaitMore: Effect.suspend(() => (next ?? first).awaitMore),
    wake: () => (next ?? first).wake()
  }
}

export const prependChunk = <A, E>(values: ReadonlyArray<A>, source: ChunkSource<A, E>): ChunkSource<A, E> => {
  let first = values
  return {
    ...source,
    poll: () => {
      if (first.length === 0) return source.poll()
      const batch = { values: first, isDone: false }
      first = []
      return batch
    }
  }
}

/** Opens a source when the stream is read, and closes its scope at the end. */
export const streamFromOpened = <A, E, E2, R>(
  opened: Effect.Effect<ChunkSource<A, E>, E2, R>
): Stream.Stream<A, E | E2, Exclude<R, Scope.Scope>> => Stream.unwrapScoped(Effect.map(opened, streamFromSource))

/** Converts a stream to a source: one fiber pulls a chunk only while a reader waits. Closing the scope ends it. */
export const makeChunkSource = Effect.fnUntraced(function* <A, E>(
  stream: Stream.Stream<A, E>
): Effect.fn.Return<ChunkSource<A, E>, never, Scope.Scope> {
  const pull = yield* Stream.toPull(stream)
  const isAwaited = yield* Effect.makeLatch(false)
  let buffered: ChunkBatch<A, E> | null = null
  let defect: Cause.Cause<never> | null = null
  let notify = () => {}

  const buffer = (batch: ChunkBatch<A, E>) => {
    buffered = batch
    isAwaited.unsafeClose()
    notify()
  }
  const pullNext = Effect.match(pull, {
    onSuccess: (chunk) => buffer({ values: Chunk.toReadonlyArray(chunk), isDone: false }),
    onFailure: (failure) => buffer({ values: [], isDone: true, failure: Option.getOrUndefined(failure) })
  })
  yield* Effect.forever(Effect.zipRight(isAwaited.await, pullNext)).pipe(
    Effect.catchAllCause((cause) =>
      Effect.sync(() => {
        defect = cause
        notify()
      })
    ),
    Effect.onInterrupt(() =>
      Effect.sync(() => {
        defect ??= Cause.interrupt(FiberId.none)
        notify()
      })
    ),
    Effect.interruptible,
    Effect.forkScoped
  )

  const arrived = Effect.suspend(() => (defect === null ? Effect.void : Effect.failCause(defect)))
  return {
    poll: () => {
      const batch = buffered
      buffered = batch?.isDone === true ? { ...batch, values: [] } : null
      return batch
    },
    awaitMore: Effect.suspend(() =>
      buffered !== null || defect !== null
        ? arrived
        : Effect.async<void>((resume) => {
            notify = () => {
              notify = () => {}
              resume(arrived)
            }
            isAwaited.unsafeOpen()
            return Effect.sync(() => {
              notify = () => {}
            })
          })
    ),
    wake: () => notify()
  }
})

export const openChunkSource = <A, E>(stream: Stream.Stream<A, E>): Effect.Effect<OpenedSource<A, E>> =>
  Effect.flatMap(Scope.make(), (scope) =>
    Effect.map(Scope.extend(makeChunkSource(stream), scope), (source) => ({
      ...source,
      close: Scope.close(scope, Exit.void)
    }))
  )
