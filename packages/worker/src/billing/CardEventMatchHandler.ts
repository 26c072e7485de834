import { CardEventEffects } from "@berth/domain/billing/events/CardEventEffects"
import { MatchCardEventsJob } from "@berth/domain/jobs/JobKind"
import { JobPermanentlyFailed, type RunningJob } from "@berth/domain/jobs/JobQueue"
import { Effect, Schema } from "effect"

/** Gives a user what was paid for under his address before he had it here. Doing it again changes nothing. */
export const handleCardEventMatch = Effect.fn("CardEventMatchHandler.handle")(function* (job: RunningJob) {
  const { userId } = yield* Effect.mapError(
    Schema.decodeUnknown(MatchCardEventsJob.payload)(job.payload),
    ({ message }) =>
      new JobPermanentlyFailed({ reason: `the payload is not that of ${MatchCardEventsJob.name}: ${message}` })
  )
  yield* Effect.annotateCurrentSpan({ "user.id": userId })
  yield* Effect.flatMap(CardEventEffects, (effects) => effects.matchUser(userId))
})
