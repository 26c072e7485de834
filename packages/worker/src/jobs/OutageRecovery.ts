import { type QueueName } from "@berth/domain/jobs/JobKind"
import { JobQueue } from "@berth/domain/jobs/JobQueue"
import { Effect, Layer } from "effect"
import { runRecurringTask } from "./RecurringTask.ts"

/** Excludes `provision`: agents of its dead letters are marked as failed, and their owners start them again. */
const queues: ReadonlyArray<QueueName> = ["tasks", "mail", "card-events"]
const batch = 1000
const interval = "5 minutes"

/** The reason begins with the tag of the failure; outages have tags such as `BackendUnavailable`. */
const isOutage = ({ reason }: { readonly reason: string }) => /^[A-Za-z]+Unavailable: /.test(reason)

const replayQueue = Effect.fnUntraced(function* (queue: QueueName) {
  const jobs = yield* JobQueue
  const letters = (yield* jobs.deadLetters(queue, batch)).filter(isOutage)
  yield* Effect.forEach(letters, ({ id }) => jobs.replay(queue, id), { discard: true })
  if (letters.length > 0)
    yield* Effect.logInfo("Jobs that failed in an outage run again").pipe(
      Effect.annotateLogs({ queue, jobs: letters.length })
    )
})

/** Replays dead letters caused by an unavailable external system. */
export const layer = Layer.scopedDiscard(
  runRecurringTask(
    "recovery from outages",
    interval,
    Effect.forEach(queues, replayQueue, { discard: true }).pipe(Effect.withTracerEnabled(false))
  )
)
