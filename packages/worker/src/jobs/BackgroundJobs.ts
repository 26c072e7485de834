import { JobPostponed } from "@berth/domain/jobs/JobQueue"
import { Outbox } from "@berth/domain/jobs/Outbox"
import { Cause, Context, Duration, Effect, Exit, Fiber, Layer, Option } from "effect"
import { type JobTimedOut, limitRun } from "./JobTimeout.ts"

/** Work that ends within this time runs in the slot of its job. */
const defaultHandOver = Duration.millis(200)
/** A job in the background runs again after this time, even if its worker died. */
const postponed = new JobPostponed({ after: Duration.seconds(10) })
/** Maximum background jobs of a process. The lanes of the outbox limit those of an owner. */
export const maximumBackgroundJobs = 256

/** Work of jobs that waits for models, outside of the queues' slots. */
export class BackgroundJobs extends Context.Tag("@berth/BackgroundJobs")<
  BackgroundJobs,
  {
    /**
     * Runs the work of a job, which must be idempotent. Long work continues while the job waits in the queue; the next
     * run of the job receives the result, or restarts the work if its worker died.
     */
    readonly run: <E, R>(
      jobId: string,
      work: Effect.Effect<void, E, R>
    ) => Effect.Effect<void, E | JobPostponed | JobTimedOut, R>
    /** Accepts no further work, and interrupts work that has not ended within the limit. */
    readonly drain: (limit: Duration.DurationInput) => Effect.Effect<void>
  }
>() {}

interface BackgroundJobOptions {
  /** Time in which work runs in the slot of its job; default: 200 ms. */
  readonly handOver?: Duration.DurationInput
}

const make = Effect.fnUntraced(function* ({ handOver = defaultHandOver }: BackgroundJobOptions) {
  const outbox = yield* Outbox
  const scope = yield* Effect.scope
  const works = new Map<string, Fiber.Fiber<void, unknown>>()
  /** Failures in the background, for the next runs of their jobs. */
  const failures = new Map<string, Cause.Cause<unknown>>()
  let isDraining = false

  /** Frees the owner's slot before the job's next run. */
  const endInBackground = (jobId: string, exit: Exit.Exit<void, unknown>) => {
    if (Exit.isInterrupted(exit)) return Effect.void
    if (Exit.isSuccess(exit))
      return Effect.catchAllCause(outbox.settle(jobId), (cause) =>
        Effect.logWarning("Job not settled, its next run repeats that", cause)
      )
    if (failures.size >= maximumBackgroundJobs) failures.clear()
    failures.set(jobId, exit.cause)
    return Effect.logWarning("Job failed in the background", exit.cause)
  }

  const begin = Effect.fnUntraced(function* <E, R>(jobId: string, work: Effect.Effect<void, E, R>) {
    let isHandedOver = false
    const fiber = yield* limitRun(work).pipe(
      Effect.onExit((exit) => (isHandedOver ? endInBackground(jobId, exit) : Effect.void)),
      Effect.ensuring(Effect.sync(() => works.delete(jobId))),
      Effect.forkIn(scope)
    )
    works.set(jobId, fiber)
    const exit = yield* Effect.timeoutOption(Fiber.await(fiber), handOver)
    // Work interrupted by a drain does not count as an attempt.
    if (Option.isSome(exit) && !Exit.isInterrupted(exit.value)) return yield* exit.value
    isHandedOver = true
    return yield* postponed
  })

  return BackgroundJobs.of({
    run: (jobId, work) =>
      Effect.suspend(() => {
        const failure = failures.get(jobId)
        if (failures.delete(jobId) && failure !== undefined) return Effect.die(Cause.squash(failure))
        const mayBegin = !isDraining && !works.has(jobId) && works.size < maximumBackgroundJobs
        return mayBegin ? begin(jobId, work) : postponed
      }),
    drain: (limit) =>
      Effect.suspend(() => {
        isDraining = true
        const fibers = [...works.values()]
        return Effect.forEach(fibers, Fiber.await, { discard: true, concurrency: "unbounded" }).pipe(
          Effect.interruptible,
          Effect.timeoutOption(limit),
          Effect.zipRight(Fiber.interruptAll(works.values()))
        )
      })
  })
})

export const layer = (options: BackgroundJobOptions = {}): Layer.Layer<BackgroundJobs, never, Outbox> =>
  Layer.scoped(BackgroundJobs, make(options))
