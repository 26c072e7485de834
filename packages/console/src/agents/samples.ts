import { formatClock } from "../format.ts"

export const sampleMs = 3_000
const samplesKept = 100

export interface Sample {
  readonly at: number
  readonly time: string
  readonly cpu: number | null
  readonly memory: number | null
}

/** Appends a sample. An empty one before it interrupts the line after a time without samples, as of a hidden page. */
export const appendSample = (
  samples: ReadonlyArray<Sample>,
  sample: Pick<Sample, "at" | "cpu" | "memory">
): ReadonlyArray<Sample> => {
  const last = samples.at(-1)
  const isLate = last !== undefined && sample.at - last.at > 3 * sampleMs
  return [
    ...samples,
    ...(isLate ? [{ at: sample.at, time: "", cpu: null, memory: null }] : []),
    { ...sample, time: formatClock(sample.at) }
  ].slice(-samplesKept)
}
