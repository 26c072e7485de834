import {
  type ConsumeOptions,
  JobPermanentlyFailed,
  JobPostponed,
  type JobQueue,
  JobUnsupported,
  type RunningJob
} from "@berth/domain/jobs/JobQueue"
import type { QueueName } from "@berth/domain/jobs/JobKind"
import { computeRetryPause, defaultRetryPolicy, unsupportedJobWait } from "@berth/domain/jobs/JobRetryPolicy"
import { DelayedError, type IQueueBackend, type Job, UnrecoverableError, WaitingError } from "bullmq"
import {
  Cause,
  Clock,
  Duration,
  Effect,
  Either,
  Exit,
  Fiber,
  Metric,
  MetricBoundaries,
  Option,
  Random,
  Runtime,
  Schedule,
  Tracer
} from "effect"
import { callStore, type BullmqSettings, type BullmqStore, decodeJobData } from "./BullmqStore.ts"
import { decodeJobKey, describeThrown, toQueueText } from "./QueueJson.ts"
import { makeStoreErrorLog } from "./StoreErrorLog.ts"

type JobHandle<E, R> = (job: RunningJob) => Effect.Effect<void, E | JobPermanentlyFailed, R>
type StoredJob = Job<unknown, void, string>

/** Name of `JobRetryPolicy` as backoff type in a job's options. */
export const retryBackoff = "retry-policy"

/** Time for an interrupted handler to clean up; afterwards its job waits until its lock expires. */
const handlerStopTimeout = Duration.seconds(5)

export const makeBullmqWorker = <B extends IQueueBackend, C>(
  store: BullmqStore<B, C>,
  settings: BullmqSettings
): (typeof JobQueue.Service)["consume"] =>
  Effect.fn("JobQueue.consume")(function* <E, R>(name: QueueName, options: ConsumeOptions, handle: JobHandle<E, R>) {
    // Jobs run in separate fibers, since an interruption of the main fiber must not end them before the drain.
    const runtime = yield* Effect.runtime<R>()
    const running = new Map<string, Run>()
    let isReturning = false
    const { onExit = () => Effect.void, retryPolicy = () => defaultRetryPolicy } = options
    const { unsupported = unsupportedJobWait } = settings
    const logStoreError = yield* makeStoreErrorLog("Queue store failed for the worker", { queue: name })

    const log = (line: Effect.Effect<void>, annotations: Record<string, unknown>) => {
      Runtime.runFork(runtime)(Effect.annotateLogs(line, { queue: name, ...annotations }))
    }

    /** The queue has assigned the job to another run, so this run must end. */
    const stopLost = (key: string) => {
      const run = running.get(key)
      if (run === undefined) return
      run.isLost = true
      if (run.fiber !== undefined) Runtime.runFork(runtime)(Fiber.interrupt(run.fiber))
    }

    const process = (job: StoredJob, token?: string): Promise<void> =>
      new Promise((resolve, reject) => {
        const key = job.id ?? ""
        stopLost(key)
        const run: Run = { isLost: false, fiber: undefined }
        running.set(key, run)
        const isLastAttempt = job.attemptsMade + 1 >= retryPolicy(job.name).attempts
        const fiber = Runtime.runFork(runtime)(
          Effect.uninterruptible(
            runJob(name, job, isLastAttempt, handle, onExit).pipe(
              Effect.exit,
              Effect.timed,
              Effect.flatMap(([duration, exit]) => Effect.as(observeDuration(name, job, duration), exit)),
              Effect.flatMap((exit) => {
                if (run.isLost) return abandon
                const attempt = { queue: name, job, token, isLastAttempt }
                return isReturning && Exit.isInterrupted(exit)
                  ? handBack(attempt, "returned", () => job.moveToWait(token), new WaitingError())
                  : settleJob(attempt, unsupported, exit)
              }),
              Effect.match({ onSuccess: () => resolve(), onFailure: reject }),
              Effect.annotateLogs({ queue: name, job: job.name, jobId: decodeJobKey(job.id ?? "") })
            )
          )
        )
        run.fiber = fiber
        fiber.addObserver((exit) => {
          if (running.get(key) === run) running.delete(key)
          // No effect on a settled promise; a worker must never wait for an ended fiber.
          reject(new Error(Exit.isFailure(exit) ? describeThrown(Cause.squash(exit.cause)) : "ended without a result"))
        })
      })

    const worker = yield* Effect.acquireRelease(
      Effect.sync(() =>
        store
          .worker(name, process, {
            // A worker that runs before its store is ready loops without yielding.
            autorun: false,
            concurrency: options.concurrency,
            lockDuration: Duration.toMillis(settings.lockDuration ?? "10 seconds"),
            stalledInterval: Duration.toMillis(settings.stalledInterval ?? "5 seconds"),
            maxStalledCount: settings.maxStalledCount ?? 2,
            // Pause after a refused connection; a closing worker waits for its end.
            runRetryDelay: 1000,
            settings: {
              // PostgreSQL accepts only integer milliseconds.
              backoffStrategy: (failedRuns, _type, _error, job) =>
                Math.round(
                  Duration.toMillis(
                    computeRetryPause(
                      retryPolicy(job?.name ?? ""),
                      failedRuns,
                      Runtime.runSync(runtime)(Random.next),
                      settings.firstRetryPause
                    )
                  )
                )
            }
          })
          .on("error", logStoreError)
          .on("stalled", (key) =>
            log(Effect.logWarning("Job lost its worker and runs again"), { jobId: decodeJobKey(key) })
          )
          .on("lockRenewalFailed", (keys) => keys.forEach(stopLost))
          .on("failed", (job) => {
            if (job?.deferredFailure !== undefined)
              log(Effect.logError("Job lost too many workers and becomes a dead letter"), {
                jobId: decodeJobKey(job.id ?? "")
              })
          })
      ),
      (worker) =>
        Effect.gen(function* () {
          const closed = worker.close()
          yield* Effect.logInfo("Queue consumer takes no further jobs").pipe(
            Effect.annotateLogs({ queue: name, running: running.size })
          )
          const wait = Effect.interruptible(Effect.promise(() => closed))
          if (Option.isSome(yield* Effect.timeoutOption(wait, options.drain))) return
          isReturning = true
          yield* Effect.logWarning("Unfinished jobs return to the queue").pipe(
            Effect.annotateLogs({ queue: name, jobs: running.size })
          )
          yield* Effect.forEach(
            running.values(),
            ({ fiber }) => (fiber === undefined ? Effect.void : Fiber.interruptFork(fiber)),
            { discard: true }
          )
          if (Option.isNone(yield* Effect.timeoutOption(wait, handlerStopTimeout)))
            yield* Effect.logWarning("Jobs not stopped, they run again when their locks expire").pipe(
              Effect.annotateLogs({ queue: name, jobs: running.size })
            )
        })
    )
    yield* callStore("connect", () => worker.waitUntilReady())
    yield* Effect.tryPromise(() => worker.run()).pipe(
      Effect.tapErrorCause((cause) => Effect.logError("Queue worker stopped and restarts", cause)),
      Effect.retry(Schedule.spaced("1 second")),
      Effect.annotateLogs({ queue: name }),
      Effect.forkScoped
    )
  })

interface Run {
  fiber: Fiber.RuntimeFiber<void> | undefined
  isLost: boolean
}

/** Ends a run whose job the queue has assigned to another run. BullMQ does not change the job on this error. */
const abandon = Effect.zipRight(Effect.logWarning("Job stopped, its lock was lost"), Effect.fail(new WaitingError()))

const runJob = <E, R>(
  queue: QueueName,
  job: StoredJob,
  isLastAttempt: boolean,
  handle: JobHandle<E, R>,
  onExit: NonNullable<ConsumeOptions["onExit"]>
) =>
  Effect.suspend(() => {
    const data = decodeJobData(job.data)
    if (Either.isLeft(data)) return Effect.die(new UnrecoverableError("The job has no payload and trace"))
    const { payload, trace } = data.right
    const creation = Option.map(Option.fromNullable(trace), Tracer.externalSpan)
    const attempt = job.attemptsMade + 1
    const running = { id: decodeJobKey(job.id ?? ""), name: job.name, payload, trace, attempt, isLastAttempt }
    return Effect.interruptible(handle(running)).pipe(
      Effect.onExit((exit) => onExit(running, exit)),
      Effect.withSpan(`process ${queue}`, {
        kind: "consumer",
        captureStackTrace: false,
        attributes: {
          "messaging.system": "bullmq",
          "messaging.operation.name": "process",
          "messaging.operation.type": "process",
          "messaging.destination.name": queue,
          "messaging.message.id": running.id,
          "berth.job.name": job.name,
          "berth.job.attempt": attempt
        },
        ...Option.match(creation, {
          onNone: () => ({ root: true }),
          onSome: (span) => ({ parent: span, links: [{ _tag: "SpanLink" as const, span, attributes: {} }] })
        })
      })
    )
  })

const durations = Metric.histogram(
  "berth_jobs_duration_seconds",
  MetricBoundaries.fromIterable([0.01, 0.05, 0.1, 0.5, 1, 5, 15, 60, 300, 900]),
  "Seconds from the start of a run to its end, by queue and kind"
)

const observeDuration = (queue: QueueName, job: StoredJob, duration: Duration.Duration) =>
  Metric.update(
    durations.pipe(Metric.tagged("queue", queue), Metric.tagged("job", job.name)),
    Duration.toSeconds(duration)
  )

const runs: Metric.Metric.Counter<number> = Metric.counter("berth_jobs_total", {
  description: "Runs of jobs by queue, kind and outcome",
  incremental: true
})

/** A run of a job whose end is reported to BullMQ. */
interface Attempt {
  readonly queue: QueueName
  readonly job: StoredJob
  readonly token: string | undefined
  readonly isLastAttempt: boolean
}

const count = ({ job, queue }: Attempt, outcome: "done" | "failed" | "dead" | "returned" | "postponed") => {
  const tags = { queue, job: job.name, outcome }
  return Metric.update(
    Object.entries(tags).reduce((metric, [key, value]) => Metric.tagged(metric, key, value), runs),
    1
  )
}

/** Returns a job to the queue without counting an attempt. */
const handBack = (attempt: Attempt, outcome: "returned" | "postponed", move: () => Promise<unknown>, signal: Error) =>
  callStore("return", move).pipe(
    Effect.zipRight(count(attempt, outcome)),
    Effect.catchAll((error) => Effect.logWarning("Job not returned, it runs again when its lock expires", error)),
    Effect.zipRight(Effect.fail(signal))
  )

const postpone = (attempt: Attempt, after: Duration.Duration) =>
  Effect.flatMap(Clock.currentTimeMillis, (now) =>
    handBack(
      attempt,
      "postponed",
      () => attempt.job.moveToDelayed(now + Math.round(Duration.toMillis(after)), attempt.token),
      new DelayedError()
    )
  )

/** Reports the end of a run to BullMQ: `UnrecoverableError` creates a dead letter, any other error a retry. */
const settleJob = <E>(
  attempt: Attempt,
  unsupported: NonNullable<BullmqSettings["unsupported"]>,
  exit: Exit.Exit<void, E | JobPermanentlyFailed>
): Effect.Effect<void, Error> => {
  if (Exit.isSuccess(exit)) return count(attempt, "done")
  const thrown = Cause.squash(exit.cause)
  if (thrown instanceof JobPostponed) return postpone(attempt, thrown.after)
  if (thrown instanceof JobUnsupported)
    return Effect.flatMap(Clock.currentTimeMillis, (now) =>
      now - attempt.job.timestamp < Duration.toMillis(unsupported.retention)
        ? Effect.zipRight(
            Effect.logWarning("Job waits for a worker that supports it").pipe(
              Effect.annotateLogs({ reason: thrown.reason })
            ),
            postpone(attempt, Duration.decode(unsupported.pause))
          )
        : failJob(attempt, exit.cause, new JobPermanentlyFailed({ reason: thrown.reason }))
    )
  return failJob(attempt, exit.cause, thrown)
}

const failJob = (attempt: Attempt, cause: Cause.Cause<unknown>, thrown: unknown): Effect.Effect<void, Error> => {
  const reason = describeThrown(thrown)
  const isPermanent = thrown instanceof JobPermanentlyFailed || thrown instanceof UnrecoverableError
  const isDead = isPermanent || attempt.isLastAttempt
  const stored = isPermanent ? toQueueText(thrown.message) : reason
  return Effect.zipRight(
    isDead
      ? Effect.logError("Job becomes a dead letter", cause)
      : Effect.logWarning("Job failed and runs again", cause),
    count(attempt, isDead ? "dead" : "failed")
  ).pipe(
    Effect.annotateLogs({ attempt: attempt.job.attemptsMade + 1, reason }),
    Effect.zipRight(Effect.fail(isDead ? new UnrecoverableError(stored) : new Error(stored)))
  )
}
