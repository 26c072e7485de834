import { performance } from "node:perf_hooks"

/** Maximum milliseconds between two writes of a stream under load; deltas in between are written together. */
const maximumGapMs = 100
/** Event loop utilizations at which gaps begin, and at which they are longest. */
const spacedFrom = 0.1
const longestFrom = 0.4
/** Milliseconds between measurements of the event loop. */
const measureIntervalMs = 200

/** Writes of a stream without gaps, so that short answers end at once. */
export const unspacedWrites = 4

/** Returns the gap between writes in milliseconds: 0 while the event loop is not busy. */
export const computeGap = (utilization: number): number =>
  Math.round(maximumGapMs * Math.min(1, Math.max(0, (utilization - spacedFrom) / (longestFrom - spacedFrom))))

const makeCurrentGap = (): (() => number) => {
  let before = performance.eventLoopUtilization()
  let measuredAt = performance.now()
  let gap = 0
  return () => {
    const now = performance.now()
    if (now - measuredAt >= measureIntervalMs) {
      const current = performance.eventLoopUtilization()
      gap = computeGap(performance.eventLoopUtilization(current, before).utilization)
      before = current
      measuredAt = now
    }
    return gap
  }
}

/** Returns the gap of this process in milliseconds; measures the event loop at most once per interval. */
export const currentGap = makeCurrentGap()
