import type { RuntimeStats } from "@berth/api/runtime/RuntimeContract"
import type { RunningInstance } from "@berth/domain/instances/InstanceDriver"
import { InstanceRepository } from "@berth/domain/instances/InstanceRepository"
import { HttpClient } from "@effect/platform"
import { Effect, Fiber, Metric } from "effect"
import * as RuntimeClient from "../runtime/RuntimeClient.ts"

// Sum over all instances, since a label per instance would be unbounded.
const answered = Metric.gauge("berth_instances_measured", {
  description: "Running instances that returned the figures of their process"
})
const lagP99 = Metric.gauge("berth_instances_eventloop_lag_p99_seconds", {
  description: "Highest 99th percentile of the event loops' delays of these instances since the last reading"
})
const lagMaximum = Metric.gauge("berth_instances_eventloop_lag_max_seconds", {
  description: "Longest delay of the event loops of these instances since the last reading"
})
const utilization = Metric.gauge("berth_instances_eventloop_utilization_ratio", {
  description: "Busy part of the busiest event loop of these instances since the last reading"
})
const heapUsed = Metric.gauge("berth_instances_heap_size_used_bytes", {
  description: "Used parts of the V8 heaps of these instances together"
})
const collectionSeconds = Metric.counter("berth_instances_gc_duration_seconds_total", {
  description: "Pauses of the garbage collectors of these instances together, while they were measured",
  incremental: true
})

const lifetime = "5 seconds"
const instanceTimeout = "1 second"
const totalTimeout = "2 seconds"
const concurrency = 16

type InstanceList = () => ReadonlyArray<RunningInstance>
const lists = new Set<InstanceList>()

/** Registers the running instances of a driver. Returns a function that removes them. */
export const addInstances = (list: InstanceList): (() => void) => {
  lists.add(list)
  return () => void lists.delete(list)
}

const update = (all: ReadonlyArray<RuntimeStats>): void => {
  const highest = (figure: keyof RuntimeStats) => all.reduce((max, figures) => Math.max(max, figures[figure]), 0)
  const sum = (figure: keyof RuntimeStats) => all.reduce((total, figures) => total + figures[figure], 0)
  answered.unsafeUpdate(all.length, [])
  lagP99.unsafeUpdate(highest("lagP99Seconds"), [])
  lagMaximum.unsafeUpdate(highest("lagMaximumSeconds"), [])
  utilization.unsafeUpdate(highest("utilization"), [])
  heapUsed.unsafeUpdate(sum("heapUsedBytes"), [])
  collectionSeconds.unsafeUpdate(sum("collectionSeconds"), [])
}

/**
 * Reads figures of the running instances' processes, at most once per five seconds. Omits instances without a timely
 * response; sleeping instances stay asleep.
 */
export const make: Effect.Effect<Effect.Effect<void>, never, InstanceRepository | HttpClient.HttpClient> = Effect.gen(
  function* () {
    const { ensureRuntimeToken } = yield* InstanceRepository
    const client = RuntimeClient.make(yield* HttpClient.HttpClient)

    const readOne = ({ endpoint, owner }: RunningInstance) =>
      Effect.flatMap(ensureRuntimeToken(owner), (token) => client.stats({ endpoint, token })).pipe(
        Effect.timeout(instanceTimeout)
      )

    const read = Effect.gen(function* () {
      const found: Array<RuntimeStats> = []
      yield* Effect.forEach(
        [...lists].flatMap((list) => list()),
        (instance) =>
          readOne(instance).pipe(
            Effect.map((stats) => void found.push(stats)),
            Effect.catchAllCause((cause) =>
              Effect.logDebug("Figures of an instance not read", cause).pipe(
                Effect.annotateLogs({ userId: instance.owner })
              )
            )
          ),
        { concurrency, discard: true }
      ).pipe(Effect.disconnect, Effect.timeoutOption(totalTimeout))
      yield* Effect.sync(() => update(found))
    }).pipe(Effect.withTracerEnabled(false))

    // In a separate fiber, since an interrupted reader must not interrupt the read for the next one.
    const readToEnd = Effect.uninterruptible(Effect.flatMap(Effect.forkDaemon(Effect.interruptible(read)), Fiber.join))
    return yield* Effect.cachedWithTTL(readToEnd, lifetime)
  }
)
