import { Context, Data, type Duration, type Effect, type Exit, type Scope } from "effect"
import type { QueueName, TraceParent } from "./JobKind.ts"
import type { JobRetryPolicy } from "./JobRetryPolicy.ts"

export class QueueUnavailable extends Data.TaggedError("QueueUnavailable")<{
  readonly operation: string
  readonly cause: unknown
}> {
  override get message() {
    return `The queue does not respond (${this.operation}): ${String(this.cause)}`
  }
}

/** The job cannot succeed: it goes to the dead letters without further attempts. */
export class JobPermanentlyFailed extends Data.TaggedError("JobPermanentlyFailed")<{ readonly reason: string }> {
  override get message() {
    return this.reason
  }
}

/** The work continues outside of the queue: the job runs again `after` a time. Takes no attempt. */
export class JobPostponed extends Data.TaggedError("JobPostponed")<{ readonly after: Duration.Duration }> {}

/**
 * This worker does not know the kind of the job or the shape of its payload, as during a redeploy. The job waits as
 * `unsupportedJobWait` says and then becomes a dead letter with the reason.
 */
export class JobUnsupported extends Data.TaggedError("JobUnsupported")<{ readonly reason: string }> {
  override get message() {
    return this.reason
  }
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
  /** From 1. A run that was cut off by the death of its worker does not count. */
  readonly attempt: number
  /** Whether a failure of this run makes the job a dead letter. */
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
  /** Jobs in flight at once in this process. */
  readonly concurrency: number
  /** Time that running jobs have to finish when the scope closes. */
  readonly drain: Duration.DurationInput
  /** Policy by the name of a job; `defaultRetryPolicy` when absent. */
  readonly retryPolicy?: (name: string) => JobRetryPolicy
  /** Follows a run. Uninterruptible by default; its interruption keeps the outcome of the run. */
  readonly onExit?: (job: RunningJob, exit: Exit.Exit<void, unknown>) => Effect.Effect<void>
}

/** At-least-once jobs with retries, back-off with jitter and dead letters. */
export class JobQueue extends Context.Tag("@berth/JobQueue")<
  JobQueue,
  {
    /** A job whose id is still known is not added again. */
    readonly add: (job: NewJob) => Effect.Effect<void, QueueUnavailable>
    /**
     * Consumes a queue until the scope closes. Closing takes no further jobs; jobs that run longer than `drain` return to the
     * queue.
     */
    readonly consume: <E, R>(
      queue: QueueName,
      options: ConsumeOptions,
      handle: (job: RunningJob) => Effect.Effect<void, E | JobPermanentlyFailed, R>
    ) => Effect.Effect<void, QueueUnavailable, R | Scope.Scope>
    /** Succeeds when the store accepts jobs. */
    readonly check: Effect.Effect<void, QueueUnavailable>
    readonly counts: (queue: QueueName) => Effect.Effect<QueueCounts, QueueUnavailable>
    readonly deadLetters: (
      queue: QueueName,
      limit: number
    ) => Effect.Effect<ReadonlyArray<DeadLetter>, QueueUnavailable>
    /** A paused queue starts no job, in every process, until it is resumed. Jobs are still added. Idempotent. */
    readonly pause: (queue: QueueName) => Effect.Effect<void, QueueUnavailable>
    readonly resume: (queue: QueueName) => Effect.Effect<void, QueueUnavailable>
    readonly isPaused: (queue: QueueName) => Effect.Effect<boolean, QueueUnavailable>
    /** Deletes a dead letter; false when there is none with that id. */
    readonly discard: (queue: QueueName, id: string) => Effect.Effect<boolean, QueueUnavailable>
    /** Puts a dead letter back to work; false when there is none with that id. */
    readonly replay: (queue: QueueName, id: string) => Effect.Effect<boolean, QueueUnavailable>
  }
>() {}
