import type { QueueName } from "@berth/domain/jobs/JobKind"
import { JobPermanentlyFailed, JobQueue, type RunningJob } from "@berth/domain/jobs/JobQueue"
import { Outbox } from "@berth/domain/jobs/Outbox"
import { Cause, type Context, type Duration, Effect, Exit, Layer } from "effect"
import { findHandler } from "./JobHandlers.ts"

export interface JobConsumerOptions {
  /** Jobs in flight at once in this process, by queue. */
  readonly concurrency: Record<QueueName, number>
  /** How long running jobs may take to finish when the worker is asked to end. */
  readonly drain: Duration.DurationInput
}

/** Makes room for the owner's next job once this one is done, hopeless, or out of attempts; not when it runs again. */
const settleWhenOver = <A, E, R>(
  outbox: Context.Tag.Service<Outbox>,
  job: RunningJob,
  run: Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> =>
  Effect.onExit(run, (exit) => {
    const isOver = Exit.isSuccess(exit) || isPermanentFailure(exit.cause) || job.attempt >= job.attempts
    if (!isOver || Exit.isInterrupted(exit)) return Effect.void
    return Effect.catchAllCause(outbox.settle(job.id), (cause) =>
      Effect.logWarning("A job is over, and still counts as its owner's for a while", cause)
    )
  })

const isPermanentFailure = (cause: Cause.Cause<unknown>) => Cause.squash(cause) instanceof JobPermanentlyFailed

/** Works on both queues. Merged layers close at the same time, so neither queue goes on while the other one drains. */
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
        yield* Effect.logInfo("Working on a queue").pipe(
          Effect.annotateLogs({ queue, concurrency: concurrency[queue] })
        )
      })
    )
  return Layer.mergeAll(consumer("tasks"), consumer("provision"))
}
