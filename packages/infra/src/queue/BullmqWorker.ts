import { JobPermanentlyFailed, type JobQueue, type RunningJob } from "@berth/domain/jobs/JobQueue"
import type { QueueName } from "@berth/domain/jobs/JobKind"
import { type IQueueBackend, type Job, UnrecoverableError, WaitingError } from "bullmq"
import { Cause, Duration, Effect, Either, Exit, Fiber, Metric, Option, Runtime, Schedule, Schema, Tracer } from "effect"
import { callStore, type BullmqSettings, type BullmqStore, JobData } from "./BullmqStore.ts"
import { decodeJobKey } from "./JobKey.ts"
import { describeThrown, toQueueText } from "./QueueJson.ts"
import { makeStoreErrorLog } from "./StoreErrorLog.ts"

type JobHandle<E, R> = (job: RunningJob) => Effect.Effect<void, E | JobPermanentlyFailed, R>
type StoredJob = Job<unknown, void, string>

/** How long a handler that is asked to stop may take to clean up before its job is left to the expiry of its lock. */
const handlerStopTimeout = Duration.seconds(5)

export const makeBullmqWorker = <B extends IQueueBackend, C>(
  store: BullmqStore<B, C>,
  settings: BullmqSettings
): (typeof JobQueue.Service)["consume"] =>
  Effect.fn("JobQueue.consume")(function* <E, R>(
    name: QueueName,
    options: { readonly concurrency: number; readonly drain: Duration.DurationInput },
    handle: JobHandle<E, R>
  ) {
    // Jobs are fibers of their own: what interrupts the program's main fiber must not cut them off before the drain.
    const runtime = yield* Effect.runtime<R>()
    const running = new Set<Fiber.RuntimeFiber<void>>()
    let handingBack = false
    const troubled = yield* makeStoreErrorLog("The worker has trouble with its store", { queue: name })

    const log = (line: Effect.Effect<void>, annotations: Record<string, unknown>) => {
      Runtime.runFork(runtime)(Effect.annotateLogs(line, { queue: name, ...annotations }))
    }

    const process = (job: StoredJob, token?: string): Promise<void> =>
      new Promise((resolve, reject) => {
        const fiber = Runtime.runFork(runtime)(
          Effect.uninterruptibleMask((restore) =>
            restore(runJob(name, job, handle)).pipe(
              Effect.exit,
              Effect.flatMap((exit) =>
                handingBack ? returnToQueue(name, job, token, exit) : settleJob(name, job, exit)
              ),
              Effect.match({ onSuccess: () => resolve(), onFailure: reject }),
              Effect.annotateLogs({ queue: name, job: job.name, jobId: decodeJobKey(job.id ?? "") })
            )
          )
        )
        running.add(fiber)
        fiber.addObserver((exit) => {
          running.delete(fiber)
          // Without effect after the above; a worker must never wait for a fiber that is gone.
          reject(new Error(Exit.isFailure(exit) ? describeThrown(Cause.squash(exit.cause)) : "ended without an answer"))
        })
      })

    const worker = yield* Effect.acquireRelease(
      Effect.sync(() =>
        store
          .worker(name, process, {
            // A worker that runs before its store is ready spins without yielding.
            autorun: false,
            concurrency: options.concurrency,
            lockDuration: Duration.toMillis(settings.lockDuration ?? "10 seconds"),
            stalledInterval: Duration.toMillis(settings.stalledInterval ?? "5 seconds"),
            maxStalledCount: settings.maxStalledCount ?? 2,
            // Pause after a refused connection; BullMQ's 15 s would also be how long a worker takes to notice its close.
            runRetryDelay: 1000
          })
          .on("error", troubled)
          .on("stalled", (key) =>
            log(Effect.logWarning("The worker of a job died; the job runs again"), { jobId: decodeJobKey(key) })
          )
          .on("failed", (job) => {
            if (job?.deferredFailure !== undefined)
              log(Effect.logError("A job whose workers keep dying goes to the dead letters"), {
                jobId: decodeJobKey(job.id ?? "")
              })
          })
      ),
      (worker) =>
        Effect.gen(function* () {
          const closed = worker.close()
          yield* Effect.logInfo("Taking no further jobs").pipe(
            Effect.annotateLogs({ queue: name, running: running.size })
          )
          const wait = Effect.interruptible(Effect.promise(() => closed))
          if (Option.isSome(yield* Effect.timeoutOption(wait, options.drain))) return
          handingBack = true
          yield* Effect.logWarning("Jobs did not finish in time and go back to the queue").pipe(
            Effect.annotateLogs({ queue: name, jobs: running.size })
          )
          yield* Effect.forEach(running, Fiber.interruptFork, { discard: true })
          if (Option.isNone(yield* Effect.timeoutOption(wait, handlerStopTimeout)))
            yield* Effect.logWarning("Jobs did not stop; they run again when their locks expire").pipe(
              Effect.annotateLogs({ queue: name, jobs: running.size })
            )
        })
    )
    yield* callStore("connect", () => worker.waitUntilReady())
    yield* Effect.tryPromise(() => worker.run()).pipe(
      Effect.tapErrorCause((cause) => Effect.logError("The worker stopped and starts again", cause)),
      Effect.retry(Schedule.spaced("1 second")),
      Effect.annotateLogs({ queue: name }),
      Effect.forkScoped
    )
  })

const runJob = <E, R>(queue: QueueName, job: StoredJob, handle: JobHandle<E, R>) =>
  Effect.suspend(() => {
    const data = Schema.decodeUnknownEither(JobData)(job.data)
    if (Either.isLeft(data))
      return Effect.die(new UnrecoverableError("not a job of this queue: payload and trace are missing"))
    const { payload, trace } = data.right
    const attempt = job.attemptsMade + 1
    return handle({
      id: decodeJobKey(job.id ?? ""),
      name: job.name,
      payload,
      trace,
      attempt,
      attempts: job.opts.attempts ?? 1
    }).pipe(
      Effect.withSpan(`job ${job.name}`, {
        kind: "consumer",
        attributes: {
          "messaging.system": "bullmq",
          "messaging.destination.name": queue,
          "messaging.message.id": job.id,
          attempt
        },
        ...(trace === null ? { root: true } : { parent: Tracer.externalSpan(trace) })
      })
    )
  })

const runs: Metric.Metric.Counter<number> = Metric.counter("berth_jobs_total", {
  description: "Runs of jobs by queue, kind and outcome",
  incremental: true
})

const count = (queue: QueueName, job: StoredJob, outcome: "done" | "failed" | "dead" | "handed back") => {
  const tags = { queue, job: job.name, outcome }
  return Metric.update(
    Object.entries(tags).reduce((labelled, [key, value]) => Metric.tagged(labelled, key, value), runs),
    1
  )
}

/** Tells BullMQ how a run ended, in its own errors. */
const settleJob = <E>(
  queue: QueueName,
  job: StoredJob,
  exit: Exit.Exit<void, E | JobPermanentlyFailed>
): Effect.Effect<void, Error> => {
  if (Exit.isSuccess(exit)) return count(queue, job, "done")
  const thrown = Cause.squash(exit.cause)
  const reason = describeThrown(thrown)
  const attempt = job.attemptsMade + 1
  const attempts = job.opts.attempts ?? 1
  const isHopeless = thrown instanceof JobPermanentlyFailed || thrown instanceof UnrecoverableError
  const isDead = isHopeless || attempt >= attempts
  return Effect.zipRight(
    isDead
      ? Effect.logError("A job goes to the dead letters", exit.cause)
      : Effect.logWarning("A job failed and runs again", exit.cause),
    count(queue, job, isDead ? "dead" : "failed")
  ).pipe(
    Effect.annotateLogs({ attempt, attempts, reason }),
    Effect.zipRight(Effect.fail(isHopeless ? new UnrecoverableError(toQueueText(thrown.message)) : new Error(reason)))
  )
}

/** What ended by itself just in time is settled; what was cut off waits again, without having used up an attempt. */
const returnToQueue = <E>(
  queue: QueueName,
  job: StoredJob,
  token: string | undefined,
  exit: Exit.Exit<void, E | JobPermanentlyFailed>
): Effect.Effect<void, Error> =>
  Exit.isFailure(exit) && Cause.isInterrupted(exit.cause)
    ? callStore("hand back", () => job.moveToWait(token)).pipe(
        Effect.zipRight(count(queue, job, "handed back")),
        Effect.catchAll((error) =>
          Effect.logWarning("A job could not be handed back; it runs again when its lock expires", error)
        ),
        Effect.zipRight(Effect.fail(new WaitingError()))
      )
    : settleJob(queue, job, exit)
