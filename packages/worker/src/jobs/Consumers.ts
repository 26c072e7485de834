import type { QueueName } from "@berth/domain/jobs/Job"
import { JobQueue } from "@berth/domain/jobs/JobQueue"
import { type Duration, Effect, Layer } from "effect"
import { handlerOf } from "./JobHandlers.ts"

export interface ConsumerOptions {
  /** Jobs in flight at once in this process, by queue. */
  readonly concurrency: Record<QueueName, number>
  /** How long running jobs may take to finish when the worker is asked to end. */
  readonly drain: Duration.DurationInput
}

/** Works on both queues. Merged layers close at the same time, so neither queue goes on while the other one drains. */
export const layer = ({ concurrency, drain }: ConsumerOptions) => {
  const consumer = (queue: QueueName) =>
    Layer.scopedDiscard(
      Effect.gen(function* () {
        const { work } = yield* JobQueue
        yield* work(queue, { concurrency: concurrency[queue], drain }, handlerOf(queue))
        yield* Effect.logInfo("Working on a queue").pipe(
          Effect.annotateLogs({ queue, concurrency: concurrency[queue] })
        )
      })
    )
  return Layer.mergeAll(consumer("tasks"), consumer("provision"))
}
