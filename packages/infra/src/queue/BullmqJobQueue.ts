import { JobQueue, QueueIsUnavailable, type DeadLetter, type JobToAdd } from "@berth/domain/jobs/JobQueue"
import type { QueueName } from "@berth/domain/jobs/Job"
import { ErrorCode, type IQueueBackend, type JobsOptions } from "bullmq"
import { Duration, Effect, Either, Predicate, Schema, type Scope } from "effect"
import { ask, type BullmqSettings, type BullmqStore, JobData } from "./BullmqStore.ts"
import { makeWork } from "./BullmqWork.ts"
import { jobIdOf, jobKey } from "./JobKey.ts"
import { storableJson } from "./StorableJson.ts"
import { makeTroubles } from "./Troubles.ts"

const Counts = Schema.Struct({
  waiting: Schema.Int,
  active: Schema.Int,
  delayed: Schema.Int,
  completed: Schema.Int,
  failed: Schema.Int
})

const isNotFailed = Schema.is(Schema.Struct({ code: Schema.Literal(ErrorCode.JobNotExist, ErrorCode.JobNotInState) }))

const keep = (retention: { readonly age: Duration.DurationInput; readonly count: number }) => ({
  age: Math.ceil(Duration.toSeconds(retention.age)),
  count: retention.count
})

export const makeJobQueue = <B extends IQueueBackend, C>(
  store: BullmqStore<B, C>,
  settings: BullmqSettings
): Effect.Effect<typeof JobQueue.Service, QueueIsUnavailable, Scope.Scope> =>
  Effect.gen(function* () {
    const open = (name: QueueName) =>
      Effect.gen(function* () {
        const troubled = yield* makeTroubles("The queue has trouble with its store", { queue: name })
        const queue = yield* Effect.acquireRelease(
          // Nobody reads the event stream: a short one keeps the store small.
          Effect.sync(() => store.queue(name, { streams: { events: { maxLen: 100 } } }).on("error", troubled)),
          (queue) =>
            Effect.tryPromise(() => queue.close()).pipe(
              Effect.interruptible,
              Effect.timeout("5 seconds"),
              Effect.catchAll((error) => Effect.logWarning("The queue did not close", error))
            )
        )
        yield* ask("connect", () => queue.waitUntilReady())
        return queue
      })
    const queues = { tasks: yield* open("tasks"), provision: yield* open("provision") }

    const jobOptions: JobsOptions = {
      attempts: settings.attempts ?? 5,
      backoff: { type: "exponential", delay: Duration.toMillis(settings.backoff ?? "2 seconds"), jitter: 0.5 },
      removeOnComplete: keep(settings.keepCompleted ?? { age: "7 days", count: 10_000 }),
      removeOnFail: keep(settings.keepFailed ?? { age: "30 days", count: 10_000 }),
      stackTraceLimit: 1
    }

    const add = Effect.fn("JobQueue.add")(function* (job: JobToAdd) {
      yield* Effect.annotateCurrentSpan({ queue: job.queue, job: job.name, id: job.id })
      const data = storableJson({ payload: job.payload, trace: job.trace })
      yield* ask("add", () => queues[job.queue].add(job.name, data, { ...jobOptions, jobId: jobKey(job.id) }))
    })

    const counts = Effect.fn("JobQueue.counts")(function* (name: QueueName) {
      const found = yield* ask("count", () =>
        queues[name].getJobCounts("waiting", "active", "delayed", "completed", "failed")
      )
      return yield* Effect.mapError(
        Schema.decodeUnknown(Counts)(found),
        (cause) => new QueueIsUnavailable({ operation: "count", cause })
      )
    })

    const deadLetters = Effect.fn("JobQueue.deadLetters")(function* (name: QueueName, limit: number) {
      // To BullMQ an end of -1 means all of them.
      if (limit < 1) return []
      const failed = yield* ask("list", () => queues[name].getFailed(0, limit - 1))
      return failed.map((job): DeadLetter => {
        const data = Schema.decodeUnknownEither(JobData)(job.data)
        return {
          id: jobIdOf(job.id ?? ""),
          name: job.name,
          payload: Either.isRight(data) ? data.right.payload : job.data,
          reason: job.failedReason
        }
      })
    })

    const replay = Effect.fn("JobQueue.replay")(function* (name: QueueName, id: string) {
      const job = yield* ask("find", () => queues[name].getJob(jobKey(id)))
      if (Predicate.isNullable(job)) return false
      return yield* ask("replay", () =>
        job.retry("failed", { resetAttemptsMade: true, resetAttemptsStarted: true })
      ).pipe(
        Effect.as(true),
        Effect.catchIf(
          (error) => isNotFailed(error.cause),
          () => Effect.succeed(false)
        )
      )
    })

    return JobQueue.of({ add, work: makeWork(store, settings), counts, deadLetters, replay })
  })
