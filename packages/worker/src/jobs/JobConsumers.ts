import type { QueueName } from "@berth/domain/jobs/JobKind"
import { JobPermanentlyFailed, JobQueue, type RunningJob } from "@berth/domain/jobs/JobQueue"
import { Outbox } from "@berth/domain/jobs/Outbox"
import { Cause, type Context, type Duration, Effect, Exit, Layer } from "effect"
import { findHandler } from "./JobHandlers.ts"

export interface JobConsumerOptions {
  /** Jobs in flight at once in this process, by queue. */
  readonly concurrency: Record<QueueName, number>
  /** Time that running jobs have to finish when the worker stops. */
  readonly drain: Duration.DurationInput
}

/** Frees the owner's slot when the job has completed or will not run again. */
const settleWhenOver = <A, E, R>(
  outbox: Context.Tag.Service<Outbox>,
  job: RunningJob,
  run: Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> =>
  Effect.onExit(run, (exit) => {
    const isOver = Exit.isSuccess(exit) || isPermanentFailure(exit.cause) || job.attempt >= job.attempts
    if (!isOver || Exit.isInterrupted(exit)) return Effect.void
    return Effect.catchAllCause(outbox.settle(job.id), (cause) =>
      Effect.logWarning("Job not settled, its slot frees after a timeout", cause)
    )
  })

const isPermanentFailure = (cause: Cause.Cause<unknown>) => Cause.squash(cause) instanceof JobPermanentlyFailed

/** Consumes both queues. Merged layers close concurrently, so that both drain at the same time. */
export const layer = ({ concurrency, drain }: JobConsumerOptions) => {
  const consumer = (queue: QueueName) =>
    Layer.scopedDiscard(
      Effect.gen(function* () {
        const { consume } = yield* JobQueue
        const outbox = yield* Outbox
        const handle = findHandler(queue)
        yield* consume(queue, { concurrency: concurrency[queue], drain }, (job) =>
          settleWhenOver(outbox, job, handle(job))
        )
        yield* Effect.logInfo("Queue consumer started").pipe(
          Effect.annotateLogs({ queue, concurrency: concurrency[queue] })
        )
      })
    )
  return Layer.mergeAll(consumer("tasks"), consumer("provision"))
}
