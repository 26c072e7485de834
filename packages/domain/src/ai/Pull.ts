import { Chunk, Effect, Option, Scope, Stream } from "effect"
import type { ChatChunk, ProviderFailed } from "./ModelChat.ts"

/** What has come of something that comes piece by piece. */
export interface Taken<A, E> {
  readonly values: ReadonlyArray<A>
  /** Nothing comes after these values. */
  readonly isOver: boolean
  /** Why it broke off, where it did not come to its end. */
  readonly failure?: E | undefined
}

/**
 * What comes piece by piece, for whoever asks for it. What has come is taken without an effect: an answer has hundreds of
 * pieces, and an effect for each of them in each of many stages is most of what passing it on costs.
 */
export interface Pull<A, E> {
  /** What has come since it was last asked for; null when nothing has. Its end is told again to who asks again. */
  readonly take: () => Taken<A, E> | null
  /** Waits for more. There may be nothing to take after that. */
  readonly come: Effect.Effect<void>
}

/** Waits until there is something to take, and takes it. */
export const nextOf = <A, E>({ come, take }: Pull<A, E>): Effect.Effect<Taken<A, E>> => {
  const next: Effect.Effect<Taken<A, E>> = Effect.suspend(() => {
    const taken = take()
    return taken === null ? Effect.flatMap(come, () => next) : Effect.succeed(taken)
  })
  return next
}

/** Takes what one waits for with `next`; `come` then ends when there is something. */
const kept = <A, E>(next: Effect.Effect<Taken<A, E>>): Pull<A, E> => {
  let held: Taken<A, E> | null = null
  const hold = Effect.map(next, (taken) => {
    held = taken
  })
  return {
    take: () => {
      const taken = held
      held = taken?.isOver === true ? { ...taken, values: [] } : null
      return taken
    },
    come: Effect.suspend(() => (held === null ? hold : Effect.void))
  }
}

/** A pull as a stream. */
export const streamOf = <A, E>(pull: Pull<A, E>): Stream.Stream<A, E> => {
  let end: Effect.Effect<never, Option.Option<E>> | null = null
  const next: Effect.Effect<Chunk.Chunk<A>, Option.Option<E>> = Effect.suspend(
    () =>
      end ??
      Effect.flatMap(nextOf(pull), ({ failure, isOver, values }) => {
        if (isOver) end = Effect.fail(Option.fromNullable(failure))
        return values.length > 0 ? Effect.succeed(Chunk.unsafeFromArray(values)) : next
      })
  )
  return Stream.fromPull(Effect.succeed(next))
}

/** A stream as a pull. The scope ends it. */
export const pullOfStream = <A, E>(stream: Stream.Stream<A, E>): Effect.Effect<Pull<A, E>, never, Scope.Scope> =>
  Effect.map(Stream.toPull(stream), (next) =>
    kept(
      Effect.match(next, {
        onSuccess: (chunk): Taken<A, E> => ({ values: Chunk.toReadonlyArray(chunk), isOver: false }),
        onFailure: (failure) => ({ values: [], isOver: true, failure: Option.getOrUndefined(failure) })
      })
    )
  )

type Answer = Stream.Stream<ChatChunk, ProviderFailed>
type OpenedAnswer = Effect.Effect<Pull<ChatChunk, ProviderFailed>, never, Scope.Scope>

const openings = new WeakMap<Answer, OpenedAnswer>()

/** An answer that is opened when it is first asked for, as a stream. */
export const answerStream = (
  open: Effect.Effect<Pull<ChatChunk, ProviderFailed>, ProviderFailed, Scope.Scope>
): Answer => {
  const opening: OpenedAnswer = Effect.map(Effect.scope, (scope) => {
    let next: Effect.Effect<Taken<ChatChunk, ProviderFailed>> | null = null
    const first = Scope.extend(open, scope).pipe(
      Effect.flatMap((pull) => {
        next = nextOf(pull)
        return next
      }),
      Effect.catchAll((failure) => Effect.succeed({ values: [], isOver: true, failure }))
    )
    return kept(Effect.suspend(() => next ?? first))
  })
  const stream = Stream.unwrapScoped(Effect.map(opening, streamOf))
  openings.set(stream, opening)
  return stream
}

/** How an answer is asked for piece by piece: by what it was made of, where that is known, without the machinery of a stream. */
export const pullOf = (answer: Answer): OpenedAnswer => openings.get(answer) ?? pullOfStream(answer)
