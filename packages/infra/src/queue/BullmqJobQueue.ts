import { JobQueue, QueueUnavailable, type DeadLetter, type NewJob } from "@berth/domain/jobs/JobQueue"
import type { QueueName } from "@berth/domain/jobs/JobKind"
import { ErrorCode, type IQueueBackend, type JobsOptions } from "bullmq"
import { Duration, Effect, Either, Predicate, Schedule, Schema, type Scope } from "effect"
import { callStore, type BullmqSettings, type BullmqStore, decodeJobData } from "./BullmqStore.ts"
import { makeBullmqWorker, retryBackoff } from "./BullmqWorker.ts"
import { decodeJobKey, encodeJobKey, toQueueJson } from "./QueueJson.ts"
import { makeStoreErrorLog } from "./StoreErrorLog.ts"

const Counts = Schema.Struct({
  waiting: Schema.Int,
  active: Schema.Int,
  delayed: Schema.Int,
  completed: Schema.Int,
  failed: Schema.Int
})

const isNotReplayable = Schema.is(
  Schema.Struct({ code: Schema.Literal(ErrorCode.JobNotExist, ErrorCode.JobNotInState) })
)

const keep = ({ age, ...count }: NonNullable<BullmqSettings["keepCompleted"]>) => ({
  age: Math.ceil(Duration.toSeconds(age)),
  ...count
})

export const makeBullmqJobQueue = <B extends IQueueBackend, C>(
  store: BullmqStore<B, C>,
  settings: BullmqSettings
): Effect.Effect<typeof JobQueue.Service, QueueUnavailable, Scope.Scope> =>
  Effect.gen(function* () {
    const open = Effect.fnUntraced(function* (name: QueueName) {
      const logStoreError = yield* makeStoreErrorLog("Queue store failed", { queue: name })
      const queue = yield* Effect.acquireRelease(
        // The event stream has no readers, so a short one keeps the store small.
        Effect.sync(() => store.queue(name, { streams: { events: { maxLen: 100 } } }).on("error", logStoreError)),
        (queue) =>
          Effect.tryPromise(() => queue.close()).pipe(
            Effect.interruptible,
            Effect.timeout("5 seconds"),
            Effect.catchAll((error) => Effect.logWarning("Queue not closed", error))
          )
      )
      yield* callStore("connect", () => queue.waitUntilReady())
      return queue
    })
    const queues = {
      tasks: yield* open("tasks"),
      provision: yield* open("provision"),
      mail: yield* open("mail"),
      "card-events": yield* open("card-events")
    }

    const keepCompleted = settings.keepCompleted ?? { age: "7 days", count: 10_000 }
    const jobOptions: JobsOptions = {
      // PostgreSQL's largest integer, since the worker stops by the policy of the job's kind.
      attempts: 2 ** 31 - 1,
      backoff: { type: retryBackoff },
      removeOnComplete: settings.cleanupInterval === undefined && keep(keepCompleted),
      removeOnFail: keep(settings.keepFailed ?? { age: "30 days", count: 10_000 }),
      stackTraceLimit: 1
    }

    const add = Effect.fn("JobQueue.add")(function* (job: NewJob) {
      yield* Effect.annotateCurrentSpan({ queue: job.queue, job: job.name, id: job.id })
      const data = toQueueJson({ payload: job.payload, trace: job.trace })
      yield* callStore("add", () =>
        queues[job.queue].add(job.name, data, { ...jobOptions, jobId: encodeJobKey(job.id) })
      )
    })

    const counts = Effect.fn("JobQueue.counts")(function* (name: QueueName) {
      const counts = yield* callStore("count", () =>
        queues[name].getJobCounts("active", "delayed", "completed", "failed")
      )
      // Unlike the count of waiting jobs, includes those of a paused queue.
      const { 0: waiting } = yield* callStore("count", () => queues[name].getCountsPerPriority([0]))
      return yield* Effect.mapError(
        Schema.decodeUnknown(Counts)({ ...counts, waiting }),
        (cause) => new QueueUnavailable({ operation: "count", cause })
      )
    })

    const deadLetters = Effect.fn("JobQueue.deadLetters")(function* (name: QueueName, limit: number) {
      // BullMQ treats an end of -1 as unlimited.
      if (limit < 1) return []
      const failed = yield* callStore("list", () => queues[name].getFailed(0, limit - 1))
      return failed.map((job): DeadLetter => {
        const data = decodeJobData(job.data)
        return {
          id: decodeJobKey(job.id ?? ""),
          name: job.name,
          payload: Either.isRight(data) ? data.right.payload : job.data,
          reason: job.failedReason
        }
      })
    })

    const replay = Effect.fn("JobQueue.replay")(function* (name: QueueName, id: string) {
      const job = yield* callStore("find", () => queues[name].getJob(encodeJobKey(id)))
      if (Predicate.isNullable(job)) return false
      return yield* callStore("replay", () =>
        job.retry("failed", { resetAttemptsMade: true, resetAttemptsStarted: true })
      ).pipe(
        Effect.as(true),
        Effect.catchIf(
          (error) => isNotReplayable(error.cause),
          () => Effect.succeed(false)
        )
      )
    })

    const discard = Effect.fn("JobQueue.discard")(function* (name: QueueName, id: string) {
      const job = yield* callStore("find", () => queues[name].getJob(encodeJobKey(id)))
      if (Predicate.isNullable(job) || !(yield* callStore("find", () => job.isFailed()))) return false
      yield* callStore("discard", () => job.remove())
      return true
    })

    const work = makeBullmqWorker(store, settings)
    const removeCompleted = (name: QueueName, interval: Duration.DurationInput) =>
      callStore(
        "clean",
        () => queues[name].clean(Duration.toMillis(keepCompleted.age), 0, "completed"),
        "1 minute"
      ).pipe(
        Effect.catchAll((error) => Effect.logWarning("Completed jobs not removed", error)),
        Effect.withTracerEnabled(false),
        Effect.repeat(Schedule.spaced(interval)),
        Effect.forkScoped
      )

    return JobQueue.of({
      add,
      consume: (name, options, handle) =>
        Effect.zipRight(
          settings.cleanupInterval === undefined ? Effect.void : removeCompleted(name, settings.cleanupInterval),
          work(name, options, handle)
        ),
      check: callStore("check", () => queues.tasks.getBackend().setQueueMeta({ check: 1 })).pipe(
        Effect.withSpan("JobQueue.check"),
        Effect.asVoid
      ),
      counts,
      deadLetters,
      replay,
      discard,
      pause: Effect.fn("JobQueue.pause")((name: QueueName) => callStore("pause", () => queues[name].pause())),
      resume: Effect.fn("JobQueue.resume")((name: QueueName) => callStore("resume", () => queues[name].resume())),
      isPaused: Effect.fn("JobQueue.isPaused")((name: QueueName) => callStore("read", () => queues[name].isPaused()))
    })
  })
