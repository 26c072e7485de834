import { performance } from "node:perf_hooks"

/** Milliseconds between two writes of a stream under full load; deltas that arrive meanwhile travel together. */
const maximumGapMs = 100
/** Utilization of the event loop from which on writes are spaced, and at which the gap is longest. */
const spacedFrom = 0.4
const longestFrom = 0.8
/** Milliseconds between two looks at the event loop. */
const lookIntervalMs = 200

/** Returns the gap in milliseconds between writes: 0 while the event loop has time. */
export const computeGap = (utilization: number): number =>
  Math.round(maximumGapMs * Math.min(1, Math.max(0, (utilization - spacedFrom) / (longestFrom - spacedFrom))))

/** The gap of this process; looks at the event loop at most once per interval. */
const makeCurrentGap = (): ((now: number) => number) => {
  let before = performance.eventLoopUtilization()
  let lookedAt = performance.now()
  let gap = 0
  return (now) => {
    if (now - lookedAt >= lookIntervalMs) {
      const current = performance.eventLoopUtilization()
      gap = computeGap(performance.eventLoopUtilization(current, before).utilization)
      before = current
      lookedAt = now
    }
    return gap
  }
}

const currentGap = makeCurrentGap()

/** The pace of one stream's writes. */
export class WritePace {
  #writtenAt = Number.NEGATIVE_INFINITY

  /** Milliseconds until the next write; the first and the end of a stream do not wait. */
  wait(): number {
    const now = performance.now()
    return Math.max(0, this.#writtenAt + currentGap(now) - now)
  }

  note(): void {
    this.#writtenAt = performance.now()
  }
}
