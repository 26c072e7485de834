import { QueueUnavailable } from "@berth/domain/jobs/JobQueue"
import { type QueueName, TraceParent } from "@berth/domain/jobs/JobKind"
import type { IQueueBackend, JobProgress, Processor, Queue, QueueOptions, Worker, WorkerOptions } from "bullmq"
import { type Duration, Effect, Schema } from "effect"

export interface BullmqSettings {
  /** Pause after the first failure; default: 2 s. */
  readonly firstRetryPause?: Duration.Duration
  /** Time without renewal after which a worker loses a job's lock; default: 10 s. */
  readonly lockDuration?: Duration.DurationInput
  /** Interval at which workers check for lost jobs; default: 5 s. */
  readonly stalledInterval?: Duration.DurationInput
  /** Worker deaths that a job survives before it becomes a dead letter; default: 2. */
  readonly maxStalledCount?: number
  /** Wait of jobs that a worker does not support; default: 30 minutes with pauses of 15 s. */
  readonly unsupported?: { readonly retention: Duration.DurationInput; readonly pause: Duration.DurationInput }
  /** Retention of completed jobs, whose ids cannot be added again; default: 7 days and 10,000. */
  readonly keepCompleted?: { readonly age: Duration.DurationInput; readonly count?: number }
  /** Interval of the removal of completed jobs; default: at the end of each job. */
  readonly cleanupInterval?: Duration.DurationInput
  /** Retention of dead letters; default: 30 days and 10,000. */
  readonly keepFailed?: { readonly age: Duration.DurationInput; readonly count: number }
}

/** Connects queues and workers to a store. */
export interface BullmqStore<B extends IQueueBackend, C> {
  readonly queue: (
    name: QueueName,
    options: Omit<QueueOptions, "connection" | "prefix">
  ) => Queue<unknown, void, string, unknown, void, string, B, C>
  readonly worker: (
    name: QueueName,
    process: Processor<unknown, void, string>,
    options: Omit<WorkerOptions, "connection" | "prefix">
  ) => Worker<unknown, void, string, B, JobProgress, C>
}

/** Content of a job's row or hash. */
const JobData = Schema.Struct({ payload: Schema.Unknown, trace: Schema.NullOr(TraceParent) })
export const decodeJobData = Schema.decodeUnknownEither(JobData)

/** Calls the store; fails with `QueueUnavailable` after the timeout. */
export const callStore = <A>(
  operation: string,
  run: () => Promise<A>,
  timeout: Duration.DurationInput = "5 seconds"
): Effect.Effect<A, QueueUnavailable> =>
  Effect.tryPromise({ try: run, catch: (cause) => new QueueUnavailable({ operation, cause }) }).pipe(
    Effect.timeoutFail({
      duration: timeout,
      onTimeout: () => new QueueUnavailable({ operation, cause: "timeout" })
    })
  )
