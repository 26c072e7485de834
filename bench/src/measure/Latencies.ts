import { Array, Order } from "effect"
import { createHistogram, type RecordableHistogram } from "node:perf_hooks"

/** Milliseconds. */
export interface Latencies {
  readonly p50: number
  readonly p95: number
  readonly p99: number
  readonly max: number
}

/** Histogram of latencies with three significant digits. */
export class LatencyRecorder {
  readonly #histogram: RecordableHistogram = createHistogram({ figures: 3 })

  record(milliseconds: number): void {
    this.#histogram.record(Math.max(1, Math.round(milliseconds * 1000)))
  }

  get latencies(): Latencies {
    const at = (percentile: number) => this.#histogram.percentile(percentile) / 1000
    return { p50: at(50), p95: at(95), p99: at(99), max: this.#histogram.max / 1000 }
  }
}

export const summarizeLatencies = (milliseconds: Iterable<number>): Latencies => {
  const recorder = new LatencyRecorder()
  for (const one of milliseconds) recorder.record(one)
  return recorder.latencies
}

/** The median; NaN for an empty list. */
export const median = (values: ReadonlyArray<number>): number => {
  const sorted = Array.sort(values, Order.number)
  const upper = sorted[Math.floor(sorted.length / 2)] ?? Number.NaN
  const lower = sorted[Math.ceil(sorted.length / 2) - 1] ?? Number.NaN
  return (lower + upper) / 2
}

/** The median of each percentile over several measurements. */
export const medianLatencies = (rounds: ReadonlyArray<Latencies>): Latencies => ({
  p50: median(rounds.map(({ p50 }) => p50)),
  p95: median(rounds.map(({ p95 }) => p95)),
  p99: median(rounds.map(({ p99 }) => p99)),
  max: median(rounds.map(({ max }) => max))
})
