import { CardEventEffects } from "@berth/domain/billing/events/CardEventEffects"
import { JobPermanentlyFailed, type RunningJob } from "@berth/domain/jobs/JobQueue"
import { Effect, Schema } from "effect"
import { EmailAddressConfirmedJob } from "@berth/domain/accounts/AccountJobs"

/** Gives a user what was paid for under his address before he had it here. Doing it again changes nothing. */
export const handleCardEventMatch = Effect.fn("CardEventMatchHandler.handle")(function* (job: RunningJob) {
  const { userId } = yield* Effect.mapError(
    Schema.decodeUnknown(EmailAddressConfirmedJob.payload)(job.payload),
    ({ message }) =>
      new JobPermanentlyFailed({ reason: `the payload is not that of ${EmailAddressConfirmedJob.name}: ${message}` })
  )
  yield* Effect.annotateCurrentSpan({ "user.id": userId })
  yield* Effect.flatMap(CardEventEffects, (effects) => effects.matchUser(userId))
})
