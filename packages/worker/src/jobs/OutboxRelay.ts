import { JobQueue } from "@berth/domain/jobs/JobQueue"
import { Outbox } from "@berth/domain/jobs/Outbox"
import { Effect, Layer, Option } from "effect"
import { runLoop, runRecurringTask } from "./RecurringTask.ts"

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

/** Adds the jobs of unsettled entries again. No effect for jobs that the queue's store has. */
const restore = Effect.gen(function* () {
  const { listUnsettled } = yield* Outbox
  const { add } = yield* JobQueue
  let after = Option.some("")
  while (Option.isSome(after)) {
    const entries = yield* listUnsettled(after.value, batch)
    yield* Effect.forEach(entries, add, { discard: true })
    after = Option.map(Option.fromNullable(entries[batch - 1]), ({ id }) => id)
  }
})

/** Publishes outbox entries to their queues while the worker runs, again if the queue's store has lost them. */
export const layer = Layer.scopedDiscard(
  Effect.zipRight(relay, runRecurringTask("lost jobs", "5 minutes", Effect.withTracerEnabled(restore, false)))
)
