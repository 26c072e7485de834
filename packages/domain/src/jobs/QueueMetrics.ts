import { QueueName } from "./JobKind.ts"
import { JobQueue } from "./JobQueue.ts"
import { Effect, Metric } from "effect"

const depth = Metric.gauge("berth_queue_jobs", { description: "Jobs by queue and state; dead ones failed permanently" })
const isUp = Metric.gauge("berth_queue_up", { description: "Whether the store of a queue responded to the last poll" })

const countTimeout = "2 seconds"

/** Updates the gauges of every queue. They keep their values while the store is unavailable. */
export const measureQueues: Effect.Effect<void, never, JobQueue> = Effect.flatMap(JobQueue, (jobs) =>
  Effect.forEach(
    QueueName.literals,
    (queue) =>
      jobs.counts(queue).pipe(
        Effect.timeout(countTimeout),
        Effect.flatMap(({ active, delayed, failed, waiting }) =>
          Effect.forEach(Object.entries({ waiting, active, delayed, dead: failed }), ([state, jobs]) =>
            Metric.set(depth.pipe(Metric.tagged("queue", queue), Metric.tagged("state", state)), jobs)
          )
        ),
        Effect.as(1),
        Effect.catchAll((error) =>
          Effect.as(Effect.logWarning("Queue not measured", error).pipe(Effect.annotateLogs({ queue })), 0)
        ),
        Effect.flatMap((up) => Metric.set(Metric.tagged(isUp, "queue", queue), up))
      ),
    { concurrency: "unbounded", discard: true }
  )
)
