import { CardEventEffects } from "@berth/domain/billing/events/CardEventEffects"
import { JobPermanentlyFailed, type RunningJob } from "@berth/domain/jobs/JobQueue"
import { Effect, Schema } from "effect"
import { ApplyCardEventJob } from "@berth/domain/billing/events/CardEventJobs"

/** Lets an event of the card processor have its effects. Doing it again changes nothing. */
export const handleCardEvent = Effect.fn("CardEventHandler.handle")(function* (job: RunningJob) {
  const { eventId } = yield* Effect.mapError(
    Schema.decodeUnknown(ApplyCardEventJob.payload)(job.payload),
    ({ message }) =>
      new JobPermanentlyFailed({ reason: `the payload is not that of ${ApplyCardEventJob.name}: ${message}` })
  )
  const effects = yield* CardEventEffects
  yield* Effect.mapError(
    effects.apply(eventId),
    ({ reason }) => new JobPermanentlyFailed({ reason: `the event ${eventId} cannot be read: ${reason}` })
  )
})
