import { JobQueue } from "@berth/domain/jobs/JobQueue"
import { Outbox } from "@berth/domain/jobs/Outbox"
import { Effect, Layer } from "effect"
import { runLoop } from "./RecurringTask.ts"

/** Maximum entries published in one transaction. */
const batch = 50

const relay = Effect.gen(function* () {
  const outbox = yield* Outbox
  const queue = yield* JobQueue
  const round = Effect.gen(function* () {
    const relayed = yield* outbox.relay(batch, queue.add)
    if (relayed < batch) yield* outbox.awaitAppended
  })
  // Most rounds publish nothing, and entries contain their own trace.
  yield* runLoop("Outbox relay failed, retrying", Effect.withTracerEnabled(round, false))
})

/** Publishes outbox entries to their queues while the worker runs. */
export const layer = Layer.scopedDiscard(relay)
