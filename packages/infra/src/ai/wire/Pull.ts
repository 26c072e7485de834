import type { Pull, Taken } from "@berth/domain/ai/Pull"
import { Effect } from "effect"

export type { Pull, Taken } from "@berth/domain/ai/Pull"

/** What a stage makes of what has come: values, and behind them perhaps a failure. */
export interface Made<B, E> {
  readonly values: ReadonlyArray<B>
  readonly failure?: E | undefined
}

export interface Stage<A, B, E> {
  readonly step: (given: ReadonlyArray<A>) => Made<B, E>
  /** What there still is when nothing more comes. */
  readonly end: () => Made<B, E>
}

const nothing: Made<never, never> = { values: [] }

/** Works off at once all that has come together, with what a stage remembers in plain variables. */
export const through = <A, B, E, E2>(pull: Pull<A, E>, { end, step }: Stage<A, B, E2>): Pull<B, E | E2> => {
  let over: Taken<B, E | E2> | null = null

  const make = (given: Taken<A, E>): Taken<B, E | E2> => {
    const made: Made<B, E2> = given.values.length > 0 ? step(given.values) : nothing
    if (made.failure !== undefined) return { values: made.values, isOver: true, failure: made.failure }
    if (!given.isOver) return { values: made.values, isOver: false }
    if (given.failure !== undefined) return { values: made.values, isOver: true, failure: given.failure }
    const last = end()
    return { values: [...made.values, ...last.values], isOver: true, failure: last.failure }
  }

  return {
    take: () => {
      while (over === null) {
        const given = pull.take()
        if (given === null) return null
        const made = make(given)
        if (made.isOver) over = { ...made, values: [] }
        if (made.isOver || made.values.length > 0) return made
      }
      return over
    },
    come: pull.come
  }
}

/** A stage that has nothing to add at the end. */
export const untilEnd = <A, B, E>(step: Stage<A, B, E>["step"]): Stage<A, B, E> => ({
  step,
  end: () => nothing
})

/** All of it, and then nothing more. */
export const once = <A>(values: ReadonlyArray<A>): Pull<A, never> => {
  let left = values
  return {
    take: () => {
      const given = left
      left = []
      return { values: given, isOver: true }
    },
    come: Effect.void
  }
}

/** The same with another failure. */
export const mapFailure = <A, E, E2>(pull: Pull<A, E>, map: (failure: E) => E2): Pull<A, E2> => ({
  take: () => {
    const taken = pull.take()
    return taken === null ? null : { ...taken, failure: taken.failure === undefined ? undefined : map(taken.failure) }
  },
  come: pull.come
})
