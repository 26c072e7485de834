import type { QueueName } from "@berth/domain/jobs/JobKind"
import { JobPermanentlyFailed, JobQueue, type RunningJob } from "@berth/domain/jobs/JobQueue"
import { Outbox } from "@berth/domain/jobs/Outbox"
import { OutageDetector } from "@berth/domain/shared/DependencyUnavailable"
import { Cause, type Context, Data, Duration, Effect, Exit, Layer, Option } from "effect"
import { findHandler, findRetryPolicy } from "./JobHandlers.ts"

export interface JobConsumerOptions {
  /** Jobs in flight at once in this process. */
  readonly concurrency: Record<"tasks" | "provision", number>
  /** Time that running jobs have to finish when the worker stops. */
  readonly drain: Duration.DurationInput
}

/** A run that takes longer is interrupted and repeated, so that a hanging handler does not keep its slot. */
export const longestRun = Duration.hours(1)

export class JobTimedOut extends Data.TaggedError("JobTimedOut")<object> {
  override get message() {
    return `The job did not end within ${Duration.format(longestRun)}.`
  }
}

/** Slots of mail and of card events, which no other job takes. */
const ownSlots = { mail: 2, "card-events": 2 }

/** Frees the owner's slot when the job has completed or will not run again. */
const settleWhenOver = <A, E, R>(
  outbox: Context.Tag.Service<Outbox>,
  job: RunningJob,
  run: Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> =>
  Effect.onExit(run, (exit) => {
    const isOver = Exit.isSuccess(exit) || isPermanentFailure(exit.cause) || job.isLastAttempt
    if (!isOver || Exit.isInterrupted(exit)) return Effect.void
    return Effect.catchAllCause(outbox.settle(job.id), (cause) =>
      Effect.logWarning("Job not settled, its slot frees after a timeout", cause)
    )
  })

const limitRun = Effect.timeoutFail({ duration: longestRun, onTimeout: () => new JobTimedOut() })

const isPermanentFailure = (cause: Cause.Cause<unknown>) => Cause.squash(cause) instanceof JobPermanentlyFailed

/** Consumes every queue. Merged layers close concurrently, so that all drain at the same time. */
export const layer = ({ concurrency, drain }: JobConsumerOptions) => {
  const slots: Record<QueueName, number> = { ...concurrency, ...ownSlots }
  const consumer = (queue: QueueName) =>
    Layer.scopedDiscard(
      Effect.gen(function* () {
        const { consume } = yield* JobQueue
        const outbox = yield* Outbox
        const outages = yield* OutageDetector
        const handle = findHandler(queue)
        const failForOutage = (defect: unknown) =>
          Option.match(outages.detect(defect), { onNone: () => Effect.die(defect), onSome: Effect.fail })
        yield* consume(queue, { concurrency: slots[queue], drain, retryPolicy: findRetryPolicy(queue) }, (job) =>
          Effect.catchAllDefect(settleWhenOver(outbox, job, limitRun(handle(job))), failForOutage)
        )
        yield* Effect.logInfo("Queue consumer started").pipe(Effect.annotateLogs({ queue, concurrency: slots[queue] }))
      })
    )
  return Layer.mergeAll(consumer("tasks"), consumer("provision"), consumer("mail"), consumer("card-events"))
}
