import { JobQueue } from "@berth/domain/jobs/JobQueue"
import { Outbox } from "@berth/domain/jobs/Outbox"
import { Duration, Effect, Layer, Schedule } from "effect"
import { runRecurringTask } from "./RecurringTask.ts"

/** Entries that are handed over in one transaction. */
const batch = 50

const backOff = Schedule.exponential("200 millis").pipe(
  Schedule.union(Schedule.spaced("10 seconds")),
  Schedule.jittered
)

const pruneEvery = Duration.minutes(10)

const relay = Effect.gen(function* () {
  const outbox = yield* Outbox
  const queue = yield* JobQueue
  const round = Effect.gen(function* () {
    const relayed = yield* outbox.relay(batch, queue.add)
    if (relayed < batch) yield* outbox.awaitAppended
  })
  yield* round.pipe(
    Effect.sandbox,
    Effect.tapError((cause) => Effect.logWarning("Jobs cannot be handed to their queue; trying again", cause)),
    Effect.retry(backOff),
    Effect.forever,
    // A round a second, mostly of nothing; the entries carry traces of their own.
    Effect.withTracerEnabled(false),
    Effect.forkScoped
  )
})

const prune = Effect.gen(function* () {
  const outbox = yield* Outbox
  yield* runRecurringTask("delete published outbox entries", pruneEvery, outbox.prune)
})

/** Hands what the outbox holds to its queue, as long as the worker runs. */
export const layer = Layer.merge(Layer.scopedDiscard(relay), Layer.scopedDiscard(prune))
