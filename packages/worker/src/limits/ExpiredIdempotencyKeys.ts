import { IdempotencyKeys } from "@berth/domain/limits/IdempotencyKeys"
import { Duration, Effect, Layer } from "effect"
import { again } from "../jobs/Again.ts"

const every = Duration.hours(1)

/** An answer that is not given again any more is only in the way. */
export const sweep = Effect.gen(function* () {
  const keys = yield* IdempotencyKeys
  const removed = yield* keys.prune
  if (removed > 0)
    yield* Effect.logInfo("Expired idempotency keys were deleted").pipe(Effect.annotateLogs({ keys: removed }))
}).pipe(Effect.withSpan("ExpiredIdempotencyKeys.sweep"))

export const layer = Layer.scopedDiscard(again("delete expired idempotency keys", every, sweep))
