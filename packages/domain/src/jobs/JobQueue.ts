import { Context, Data, type Duration, type Effect, type Exit, type Scope } from "effect"
import type { QueueName, TraceParent } from "./JobKind.ts"
import type { JobRetryPolicy } from "./JobRetryPolicy.ts"

export class QueueUnavailable extends Data.TaggedError("QueueUnavailable")<{
  readonly operation: string
  readonly cause: unknown
}> {
  override readonly message = `The queue does not respond (${this.operation}): ${String(this.cause)}`
}

/** The job cannot succeed; it becomes a dead letter without further attempts. */
export class JobPermanentlyFailed extends Data.TaggedError("JobPermanentlyFailed")<{ readonly reason: string }> {
  override readonly message = this.reason
}

/** The work continues outside of the queue; the job runs again after `after`. Does not count as an attempt. */
export class JobPostponed extends Data.TaggedError("JobPostponed")<{ readonly after: Duration.Duration }> {}

/**
 * This worker does not support the job's kind or payload, for example during a redeployment. The job waits by
 * `unsupportedJobWait` and then becomes a dead letter with the reason.
 */
export class JobUnsupported extends Data.TaggedError("JobUnsupported")<{ readonly reason: string }> {
  override readonly message = this.reason
}

export interface NewJob {
  readonly id: string
  readonly queue: QueueName
  readonly name: string
  readonly payload: unknown
  readonly trace: TraceParent | null
}

export interface RunningJob {
  readonly id: string
  readonly name: string
  readonly payload: unknown
  readonly trace: TraceParent | null
  /** From 1. A run interrupted by the death of its worker does not count. */
  readonly attempt: number
  /** Whether a failure of this run creates a dead letter. */
  readonly isLastAttempt: boolean
}

export interface DeadLetter {
  readonly id: string
  readonly name: string
  readonly payload: unknown
  readonly reason: string
}

export interface QueueCounts {
  readonly waiting: number
  readonly active: number
  readonly delayed: number
  readonly completed: number
  readonly failed: number
}

export interface ConsumeOptions {
  /** Maximum jobs in flight in this process. */
  readonly concurrency: number
  /** Time for running jobs to finish after the scope closes. */
  readonly drain: Duration.DurationInput
  /** Policy by job name; default: `defaultRetryPolicy`. */
  readonly retryPolicy?: (name: string) => JobRetryPolicy
  /** Runs after a job, uninterruptibly by default. Its interruption does not change the outcome of the job. */
  readonly onExit?: (job: RunningJob, exit: Exit.Exit<void, unknown>) => Effect.Effect<void>
}

/** At-least-once jobs with retries, backoff with jitter, and dead letters. */
export class JobQueue extends Context.Tag("@berth/JobQueue")<
  JobQueue,
  {
    /** No effect for a known job id. */
    readonly add: (job: NewJob) => Effect.Effect<void, QueueUnavailable>
    /**
     * Consumes a queue until the scope closes. Then takes no further jobs; jobs that run longer than `drain` return to
     * the queue.
     */
    readonly consume: <E, R>(
      queue: QueueName,
      options: ConsumeOptions,
      handle: (job: RunningJob) => Effect.Effect<void, E | JobPermanentlyFailed, R>
    ) => Effect.Effect<void, QueueUnavailable, R | Scope.Scope>
    /** Succeeds if the store accepts jobs. */
    readonly check: Effect.Effect<void, QueueUnavailable>
    readonly counts: (queue: QueueName) => Effect.Effect<QueueCounts, QueueUnavailable>
    readonly deadLetters: (
      queue: QueueName,
      limit: number
    ) => Effect.Effect<ReadonlyArray<DeadLetter>, QueueUnavailable>
    /** Until it is resumed, a paused queue starts no job in any process. Jobs can still be added. Idempotent. */
    readonly pause: (queue: QueueName) => Effect.Effect<void, QueueUnavailable>
    readonly resume: (queue: QueueName) => Effect.Effect<void, QueueUnavailable>
    readonly isPaused: (queue: QueueName) => Effect.Effect<boolean, QueueUnavailable>
    /** Deletes a dead letter; false for an unknown id. */
    readonly discard: (queue: QueueName, id: string) => Effect.Effect<boolean, QueueUnavailable>
    /** Returns a dead letter to the queue; false for an unknown id. */
    readonly replay: (queue: QueueName, id: string) => Effect.Effect<boolean, QueueUnavailable>
  }
>() {}
