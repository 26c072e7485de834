import type { RuntimeStats } from "@berth/api/runtime/RuntimeContract"
import { Duration, Effect } from "effect"
import { monitorEventLoopDelay, performance, PerformanceObserver } from "node:perf_hooks"

/** Period of the timer that measures delays; included in the delays. */
const resolutionMillis = 50
const nanosPerSecond = 1e9
/** Time without a reader after which the measurement stops until the next reading. */
const readerTimeoutMillis = Duration.toMillis("2 minutes")

const observe = (onEnd: () => void) => {
  const delay = monitorEventLoopDelay({ resolution: resolutionMillis })
  delay.enable()
  let collectionMillis = 0
  const collections = new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) collectionMillis += duration
  })
  collections.observe({ entryTypes: ["gc"] })
  let utilization = performance.eventLoopUtilization()
  const timeout = setTimeout(() => {
    delay.disable()
    collections.disconnect()
    onEnd()
  }, readerTimeoutMillis).unref()

  const seconds = (nanos: number) =>
    Number.isFinite(nanos) ? Math.max(0, nanos / nanosPerSecond - resolutionMillis / 1000) : 0
  return (): RuntimeStats => {
    timeout.refresh()
    const used = performance.eventLoopUtilization()
    const stats = {
      lagP99Seconds: seconds(delay.percentile(99)),
      lagMaximumSeconds: seconds(delay.max),
      utilization: performance.eventLoopUtilization(used, utilization).utilization,
      collectionSeconds: collectionMillis / 1000,
      heapUsedBytes: process.memoryUsage().heapUsed
    }
    delay.reset()
    collectionMillis = 0
    utilization = used
    return stats
  }
}

let read: (() => RuntimeStats) | undefined

/** Reads figures of this process since the previous reading. The first reading starts the measurement. */
export const readProcessStats: Effect.Effect<RuntimeStats> = Effect.sync(() => {
  read ??= observe(() => {
    read = undefined
  })
  return read()
})
