import { QueueUnavailable } from "@berth/domain/jobs/JobQueue"
import { type QueueName, TraceParent } from "@berth/domain/jobs/JobKind"
import type { IQueueBackend, JobProgress, Processor, Queue, QueueOptions, Worker, WorkerOptions } from "bullmq"
import { type Duration, Effect, Schema } from "effect"

export interface BullmqSettings {
  /** How often a job is run before it goes to the dead letters: 5. */
  readonly attempts?: number
  /** Pause after the first failure, doubled after each further one, less up to half of it at random: 2 s. */
  readonly backoff?: Duration.DurationInput
  /** A worker that has not renewed a job's lock for this long has lost it: 10 s. */
  readonly lockDuration?: Duration.DurationInput
  /** How often workers look for lost jobs: 5 s. */
  readonly stalledInterval?: Duration.DurationInput
  /** How many deaths of its worker a job survives; after one more it goes to the dead letters: 2. */
  readonly maxStalledCount?: number
  /** How long, and how many, completed jobs are kept; an id is known, and not added again, that long: 7 days, 10,000. */
  readonly keepCompleted?: { readonly age: Duration.DurationInput; readonly count: number }
  /** The same for dead letters: 30 days, 10,000. */
  readonly keepFailed?: { readonly age: Duration.DurationInput; readonly count: number }
}

/** What differs between the stores: how a queue and a worker are connected. */
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

/** What a job's row or hash holds. */
export const JobData = Schema.Struct({ payload: Schema.Unknown, trace: Schema.NullOr(TraceParent) })

/** Asks the store; one that does not answer in time is unavailable. */
export const callStore = <A>(
  operation: string,
  run: () => Promise<A>,
  patience: Duration.DurationInput = "5 seconds"
): Effect.Effect<A, QueueUnavailable> =>
  Effect.tryPromise({ try: run, catch: (cause) => new QueueUnavailable({ operation, cause }) }).pipe(
    Effect.timeoutFail({
      duration: patience,
      onTimeout: () => new QueueUnavailable({ operation, cause: "no answer in time" })
    })
  )
