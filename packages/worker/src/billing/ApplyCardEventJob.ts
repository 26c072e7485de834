import { CardEventEffects } from "@berth/domain/billing/events/CardEventEffects"
import { ApplyCardEvent } from "@berth/domain/jobs/Job"
import { JobIsHopeless, type RunningJob } from "@berth/domain/jobs/JobQueue"
import { Effect, Schema } from "effect"

/** Lets an event of the card processor have its effects. Doing it again changes nothing. */
export const applyCardEvent = Effect.fn("ApplyCardEventJob")(function* (job: RunningJob) {
  const { eventId } = yield* Effect.mapError(
    Schema.decodeUnknown(ApplyCardEvent.payload)(job.payload),
    ({ message }) => new JobIsHopeless({ reason: `the payload is not that of ${ApplyCardEvent.name}: ${message}` })
  )
  const effects = yield* CardEventEffects
  yield* Effect.mapError(
    effects.apply(eventId),
    ({ reason }) => new JobIsHopeless({ reason: `the event ${eventId} cannot be read: ${reason}` })
  )
})
