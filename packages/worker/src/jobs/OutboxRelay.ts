import { JobQueue } from "@berth/domain/jobs/JobQueue"
import { Outbox } from "@berth/domain/jobs/Outbox"
import { Effect, Layer, Schedule } from "effect"

/** Maximum entries published in one transaction. */
const batch = 50

const backOff = Schedule.exponential("200 millis").pipe(
  Schedule.union(Schedule.spaced("10 seconds")),
  Schedule.jittered
)

const relay = Effect.gen(function* () {
  const outbox = yield* Outbox
  const queue = yield* JobQueue
  const round = Effect.gen(function* () {
    const relayed = yield* outbox.relay(batch, queue.add)
    if (relayed < batch) yield* outbox.awaitAppended
  })
  yield* round.pipe(
    Effect.sandbox,
    Effect.tapError((cause) => Effect.logWarning("Outbox relay failed, retrying", cause)),
    Effect.retry(backOff),
    Effect.forever,
    // Most rounds publish nothing, and entries contain their own trace.
    Effect.withTracerEnabled(false),
    Effect.forkScoped
  )
})

/** Publishes outbox entries to their queues while the worker runs. */
export const layer = Layer.scopedDiscard(relay)
