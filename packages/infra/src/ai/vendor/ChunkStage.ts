import type { ChunkBatch, ChunkSource } from "@berth/domain/ai/streams/ChunkSource"

export {
  type ChunkBatch,
  type ChunkSource,
  continueSource,
  makeSingleChunkSource,
  mapChunkFailure,
  type OpenedSource
} from "@berth/domain/ai/streams/ChunkSource"

/** Values, and a failure after them. */
export interface StageOutput<B, E> {
  readonly values: ReadonlyArray<B>
  readonly failure?: E | undefined
}

interface ChunkStage<A, B, E> {
  readonly step: (values: ReadonlyArray<A>) => StageOutput<B, E>
  /** Returns the output at the end of the source. */
  readonly end: () => StageOutput<B, E>
}

const noOutput: StageOutput<never, never> = { values: [] }

/** Hot path: runs a stage once per batch, with state in plain variables. */
export const applyStage = <A, B, E, E2>(
  source: ChunkSource<A, E>,
  { end, step }: ChunkStage<A, B, E2>
): ChunkSource<B, E | E2> => {
  let ended: ChunkBatch<B, E | E2> | null = null

  const apply = (batch: ChunkBatch<A, E>): ChunkBatch<B, E | E2> => {
    const output: StageOutput<B, E2> = batch.values.length > 0 ? step(batch.values) : noOutput
    if (output.failure !== undefined) return { values: output.values, isDone: true, failure: output.failure }
    if (!batch.isDone) return { values: output.values, isDone: false }
    if (batch.failure !== undefined) return { values: output.values, isDone: true, failure: batch.failure }
    const last = end()
    return { values: [...output.values, ...last.values], isDone: true, failure: last.failure }
  }

  return {
    ...source,
    poll: () => {
      while (ended === null) {
        const batch = source.poll()
        if (batch === null) return null
        const output = apply(batch)
        if (output.isDone) ended = { ...output, values: [] }
        if (output.isDone || output.values.length > 0) return output
      }
      return ended
    }
  }
}

/** Makes a stage without output at the end. */
export const makeStage = <A, B, E>(step: ChunkStage<A, B, E>["step"]): ChunkStage<A, B, E> => ({
  step,
  end: () => noOutput
})
