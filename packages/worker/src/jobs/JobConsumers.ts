import type { QueueName } from "@berth/domain/jobs/JobKind"
import {
  JobPermanentlyFailed,
  JobPostponed,
  JobQueue,
  JobUnsupported,
  type RunningJob
} from "@berth/domain/jobs/JobQueue"
import { Outbox } from "@berth/domain/jobs/Outbox"
import { OutageDetector } from "@berth/domain/shared/DependencyUnavailable"
import { Cause, type Context, type Duration, Effect, Exit, Layer, Option, Schedule } from "effect"
import { BackgroundJobs } from "./BackgroundJobs.ts"
import { findHandler, findRetryPolicy } from "./JobHandlers.ts"
import { limitRun } from "./JobTimeout.ts"

export interface JobConsumerOptions {
  /** Maximum jobs in flight in this process. */
  readonly concurrency: Record<"tasks" | "provision", number>
  /** Time for running jobs to finish after the worker stops. */
  readonly drain: Duration.DurationInput
}

/** Slots of mail and of card events, separate from all other jobs. */
const ownSlots = { mail: 2, "card-events": 2 }

/** Retries, since an outage of the database would otherwise occupy the slots of jobs that ended during it. */
const settleRetries = Schedule.exponential("100 millis").pipe(
  Schedule.union(Schedule.spaced("5 seconds")),
  Schedule.upTo("2 minutes")
)

/** Frees the owner's slot after the job has completed or will not run again. */
const settleWhenOver =
  (outbox: Context.Tag.Service<Outbox>) =>
  (job: RunningJob, exit: Exit.Exit<void, unknown>): Effect.Effect<void> => {
    if (!isOver(job, exit)) return Effect.void
    return outbox.settle(job.id).pipe(
      Effect.sandbox,
      Effect.retry(settleRetries),
      // The end of a drain does not wait for it.
      Effect.interruptible,
      Effect.catchAllCause((cause) => Effect.logWarning("Job not settled, its slot frees after a timeout", cause))
    )
  }

const isOver = ({ isLastAttempt }: RunningJob, exit: Exit.Exit<unknown, unknown>) => {
  if (Exit.isSuccess(exit)) return true
  const thrown = Cause.squash(exit.cause)
  if (thrown instanceof JobPermanentlyFailed) return true
  if (thrown instanceof JobPostponed || thrown instanceof JobUnsupported) return false
  return isLastAttempt && !Exit.isInterrupted(exit)
}

/** Consumes all queues. Merged layers close concurrently, so that all drain at the same time. */
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
        const options = {
          concurrency: slots[queue],
          drain,
          retryPolicy: findRetryPolicy(queue),
          onExit: settleWhenOver(outbox)
        }
        yield* consume(queue, options, (job) => Effect.catchAllDefect(limitRun(handle(job)), failForOutage))
        yield* Effect.logInfo("Queue consumer started").pipe(Effect.annotateLogs({ queue, concurrency: slots[queue] }))
      })
    )
  const background = Layer.scopedDiscard(
    Effect.flatMap(BackgroundJobs, (jobs) => Effect.addFinalizer(() => jobs.drain(drain)))
  )
  return Layer.mergeAll(background, consumer("tasks"), consumer("provision"), consumer("mail"), consumer("card-events"))
}
