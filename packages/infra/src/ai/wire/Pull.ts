import { Chunk, Effect, Option, Scope, Stream } from "effect"

/** Asks for what comes next, of which there is something; `none` when nothing more comes. */
export type Pull<A, E> = Effect.Effect<Chunk.Chunk<A>, Option.Option<E>>

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
 * Works off at once all that has come together, with what a stage remembers in plain variables: an answer has hundreds
 * of pieces, and an effect for each of them in each of many stages is most of what passing it on costs.
 */
export const through = <A, B, E, E2>(pull: Pull<A, E>, { end, step }: Stage<A, B, E2>): Pull<B, E | E2> => {
  let rest: Effect.Effect<never, Option.Option<E | E2>> | null = null
  const give = ({ failure, values }: Made<B, E2>, isOver: boolean): Pull<B, E | E2> => {
    if (failure !== undefined) rest = Effect.fail(Option.some(failure))
    else if (isOver) rest = Effect.fail(Option.none())
    return values.length > 0 ? Effect.succeed(Chunk.unsafeFromArray(values)) : (rest ?? next)
  }
  const pulled = Effect.matchEffect(pull, {
    onSuccess: (given) => give(step(given), false),
    onFailure: (failure): Pull<B, E | E2> => (Option.isSome(failure) ? Effect.fail(failure) : give(end(), true))
  })
  const next: Pull<B, E | E2> = Effect.suspend(() => rest ?? pulled)
  return next
}

/** A stage that has nothing to add at the end. */
export const untilEnd = <A, B, E>(step: Stage<A, B, E>["step"]): Stage<A, B, E> => ({
  step,
  end: () => ({ values: [] })
})

/** What is opened when it is first asked for, as a stream. */
export const streamOf = <A, E>(open: Effect.Effect<Pull<A, E>, E, Scope.Scope>): Stream.Stream<A, E> =>
  Stream.fromPull(
    Effect.map(Effect.scope, (scope) => {
      let opened: Pull<A, E> | null = null
      const opening = Scope.extend(open, scope).pipe(
        Effect.mapError(Option.some),
        Effect.flatMap((pull) => {
          opened = pull
          return pull
        })
      )
      return Effect.suspend(() => opened ?? opening)
    })
  )
