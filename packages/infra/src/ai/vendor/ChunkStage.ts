import type { ChunkSource, ChunkBatch } from "@berth/domain/ai/streams/ChunkSource"
import { Effect } from "effect"

export type { ChunkSource, ChunkBatch } from "@berth/domain/ai/streams/ChunkSource"

/** What a stage makes of what has come: values, and behind them perhaps a failure. */
export interface StageOutput<B, E> {
  readonly values: ReadonlyArray<B>
  readonly failure?: E | undefined
}

export interface ChunkStage<A, B, E> {
  readonly step: (given: ReadonlyArray<A>) => StageOutput<B, E>
  /** What there still is when nothing more comes. */
  readonly end: () => StageOutput<B, E>
}

const noOutput: StageOutput<never, never> = { values: [] }

/** Works off at once all that has come together, with what a stage remembers in plain variables. */
export const applyStage = <A, B, E, E2>(
  pull: ChunkSource<A, E>,
  { end, step }: ChunkStage<A, B, E2>
): ChunkSource<B, E | E2> => {
  let over: ChunkBatch<B, E | E2> | null = null

  const make = (given: ChunkBatch<A, E>): ChunkBatch<B, E | E2> => {
    const made: StageOutput<B, E2> = given.values.length > 0 ? step(given.values) : noOutput
    if (made.failure !== undefined) return { values: made.values, isDone: true, failure: made.failure }
    if (!given.isDone) return { values: made.values, isDone: false }
    if (given.failure !== undefined) return { values: made.values, isDone: true, failure: given.failure }
    const last = end()
    return { values: [...made.values, ...last.values], isDone: true, failure: last.failure }
  }

  return {
    poll: () => {
      while (over === null) {
        const given = pull.poll()
        if (given === null) return null
        const made = make(given)
        if (made.isDone) over = { ...made, values: [] }
        if (made.isDone || made.values.length > 0) return made
      }
      return over
    },
    awaitMore: pull.awaitMore,
    wake: pull.wake
  }
}

/** A stage that has nothing to add at the end. */
export const makeStage = <A, B, E>(step: ChunkStage<A, B, E>["step"]): ChunkStage<A, B, E> => ({
  step,
  end: () => noOutput
})

/** All of it, and then nothing more. */
export const makeSingleChunkSource = <A>(values: ReadonlyArray<A>): ChunkSource<A, never> => {
  let left = values
  return {
    poll: () => {
      const given = left
      left = []
      return { values: given, isDone: true }
    },
    awaitMore: Effect.void,
    wake: () => {}
  }
}

/** The same with another failure. */
export const mapChunkFailure = <A, E, E2>(pull: ChunkSource<A, E>, map: (failure: E) => E2): ChunkSource<A, E2> => ({
  poll: () => {
    const taken = pull.poll()
    return taken === null ? null : { ...taken, failure: taken.failure === undefined ? undefined : map(taken.failure) }
  },
  awaitMore: pull.awaitMore,
  wake: pull.wake
})
