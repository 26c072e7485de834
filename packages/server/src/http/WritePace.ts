import { performance } from "node:perf_hooks"

/** Milliseconds between two writes of a stream under load; deltas that arrive meanwhile travel together. */
const maximumGapMs = 100
/** Utilization of the event loop from which on writes are spaced, and at which the gap is longest. */
const spacedFrom = 0.1
const longestFrom = 0.4
/** Milliseconds between two looks at the event loop. */
const lookIntervalMs = 200

/** Writes of a stream that are never spaced: short answers end at once. */
export const unspacedWrites = 4

/** Returns the gap in milliseconds between writes: 0 while the event loop has time. */
export const computeGap = (utilization: number): number =>
  Math.round(maximumGapMs * Math.min(1, Math.max(0, (utilization - spacedFrom) / (longestFrom - spacedFrom))))

const makeCurrentGap = (): (() => number) => {
  let before = performance.eventLoopUtilization()
  let lookedAt = performance.now()
  let gap = 0
  return () => {
    const now = performance.now()
    if (now - lookedAt >= lookIntervalMs) {
      const current = performance.eventLoopUtilization()
      gap = computeGap(performance.eventLoopUtilization(current, before).utilization)
      before = current
      lookedAt = now
    }
    return gap
  }
}

/** The gap of this process in milliseconds; looks at the event loop at most once per interval. */
export const currentGap = makeCurrentGap()
