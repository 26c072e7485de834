import { Metric, MetricBoundaries } from "effect"
import {
  constants,
  type EventLoopUtilization,
  type IntervalHistogram,
  monitorEventLoopDelay,
  performance,
  PerformanceObserver
} from "node:perf_hooks"

/*
 * Figures of the process and of Node.js, named as in `prom-client` for its dashboards. Updated on reading, so a process
 * without readers has no cost.
 */

const gauge = (name: string, description: string) => Metric.gauge(name, { description })

const startTime = gauge("process_start_time_seconds", "Start of the process in seconds since the epoch")
const cpu = Metric.counter("process_cpu_seconds_total", {
  description: "CPU time of the process, user and system",
  incremental: true
})
const resident = gauge("process_resident_memory_bytes", "Resident memory of the process")
const heapTotal = gauge("nodejs_heap_size_total_bytes", "Size of the V8 heap")
const heapUsed = gauge("nodejs_heap_size_used_bytes", "Used part of the V8 heap")
const external = gauge("nodejs_external_memory_bytes", "Memory of buffers and other objects outside of the V8 heap")
const utilization = gauge("nodejs_eventloop_utilization_ratio", "Busy part of the event loop since the last reading")
const lag = {
  mean: gauge("nodejs_eventloop_lag_mean_seconds", "Mean delay of the event loop since the last reading"),
  p50: gauge("nodejs_eventloop_lag_p50_seconds", "Median delay of the event loop since the last reading"),
  p99: gauge("nodejs_eventloop_lag_p99_seconds", "99th percentile of the event loop's delay since the last reading"),
  max: gauge("nodejs_eventloop_lag_max_seconds", "Longest delay of the event loop since the last reading")
}
const collections = Metric.histogram(
  "nodejs_gc_duration_seconds",
  MetricBoundaries.fromIterable([0.001, 0.01, 0.1, 1, 2, 5]),
  "Pauses of the garbage collector by kind"
)

const collectionKinds = new Map([
  [constants.NODE_PERFORMANCE_GC_MAJOR, "major"],
  [constants.NODE_PERFORMANCE_GC_MINOR, "minor"],
  [constants.NODE_PERFORMANCE_GC_INCREMENTAL, "incremental"],
  [constants.NODE_PERFORMANCE_GC_WEAKCB, "weakcb"]
])
const collectionsOf = new Map(
  [...collectionKinds].map(([kind, name]) => [kind, Metric.tagged(collections, "kind", name)])
)

interface Observation {
  readonly delay: IntervalHistogram
  cpuSeconds: number
  utilization: EventLoopUtilization
}

/** Period of the timer that measures delays; included in the delays. */
const resolutionMillis = 20
const nanosPerSecond = 1e9

const kindOf = (entry: object) => {
  const detail = "detail" in entry ? entry.detail : undefined
  return typeof detail === "object" && detail !== null && "kind" in detail && typeof detail.kind === "number"
    ? detail.kind
    : 0
}

const observe = (): Observation => {
  const delay = monitorEventLoopDelay({ resolution: resolutionMillis })
  delay.enable()
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) collectionsOf.get(kindOf(entry))?.unsafeUpdate(entry.duration / 1000, [])
  }).observe({ entryTypes: ["gc"] })
  startTime.unsafeUpdate(performance.timeOrigin / 1000, [])
  return { delay, cpuSeconds: 0, utilization: performance.eventLoopUtilization() }
}

let observation: Observation | undefined
const samplers = new Set<() => void>()

/** Registers a function that updates figures when metrics are read. Returns a function that removes it. */
export const addSampler = (sample: () => void): (() => void) => {
  samplers.add(sample)
  return () => void samplers.delete(sample)
}

/** Updates the figures of this process. */
export const sampleProcess = (): void => {
  observation ??= observe()
  const { delay } = observation
  const seconds = (nanos: number) =>
    Number.isFinite(nanos) ? Math.max(0, nanos / nanosPerSecond - resolutionMillis / 1000) : 0
  lag.mean.unsafeUpdate(seconds(delay.mean), [])
  lag.p50.unsafeUpdate(seconds(delay.percentile(50)), [])
  lag.p99.unsafeUpdate(seconds(delay.percentile(99)), [])
  lag.max.unsafeUpdate(seconds(delay.max), [])
  delay.reset()

  const used = performance.eventLoopUtilization()
  utilization.unsafeUpdate(performance.eventLoopUtilization(used, observation.utilization).utilization, [])
  observation.utilization = used

  const { system, user } = process.cpuUsage()
  const cpuSeconds = (system + user) / 1e6
  cpu.unsafeUpdate(cpuSeconds - observation.cpuSeconds, [])
  observation.cpuSeconds = cpuSeconds

  const memory = process.memoryUsage()
  resident.unsafeUpdate(memory.rss, [])
  heapTotal.unsafeUpdate(memory.heapTotal, [])
  heapUsed.unsafeUpdate(memory.heapUsed, [])
  external.unsafeUpdate(memory.external, [])
  for (const sample of samplers) sample()
}
