import { QueueUnavailable } from "@berth/domain/jobs/JobQueue"
import { type QueueName, TraceParent } from "@berth/domain/jobs/JobKind"
import type { IQueueBackend, JobProgress, Processor, Queue, QueueOptions, Worker, WorkerOptions } from "bullmq"
import { type Duration, Effect, Schema } from "effect"

export interface BullmqSettings {
  /** Pause after the first failure; 2 s when absent. */
  readonly firstRetryPause?: Duration.Duration
  /** A worker that has not renewed a job's lock for this long has lost it; 10 s when absent. */
  readonly lockDuration?: Duration.DurationInput
  /** Interval at which workers look for lost jobs; 5 s when absent. */
  readonly stalledInterval?: Duration.DurationInput
  /** Deaths of its worker that a job survives; after one more it becomes a dead letter; 2 when absent. */
  readonly maxStalledCount?: number
  /** Waiting of jobs that a worker does not support; 30 minutes with pauses of 15 s when absent. */
  readonly unsupported?: { readonly retention: Duration.DurationInput; readonly pause: Duration.DurationInput }
  /** Retention of completed jobs, whose ids are not added again; 7 days and 10,000 when absent. */
  readonly keepCompleted?: { readonly age: Duration.DurationInput; readonly count?: number }
  /** Interval of the removal of completed jobs; at the end of each job when absent. */
  readonly cleanupInterval?: Duration.DurationInput
  /** Retention of dead letters; 30 days and 10,000 when absent. */
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

/** The content of a job's row or hash. */
const JobData = Schema.Struct({ payload: Schema.Unknown, trace: Schema.NullOr(TraceParent) })
export const decodeJobData = Schema.decodeUnknownEither(JobData)

/** Calls the store; `QueueUnavailable` after the timeout. */
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
