import { CardEventEffects } from "@berth/domain/billing/events/CardEventEffects"
import { MatchCardEvents } from "@berth/domain/jobs/Job"
import { JobIsHopeless, type RunningJob } from "@berth/domain/jobs/JobQueue"
import { Effect, Schema } from "effect"

/** Gives a user what was paid for under his address before he had it here. Doing it again changes nothing. */
export const matchCardEvents = Effect.fn("MatchCardEventsJob")(function* (job: RunningJob) {
  const { userId } = yield* Effect.mapError(
    Schema.decodeUnknown(MatchCardEvents.payload)(job.payload),
    ({ message }) => new JobIsHopeless({ reason: `the payload is not that of ${MatchCardEvents.name}: ${message}` })
  )
  yield* Effect.annotateCurrentSpan({ "user.id": userId })
  yield* Effect.flatMap(CardEventEffects, (effects) => effects.matchUser(userId))
})
