import { CardEventEffects } from "@berth/domain/billing/events/CardEventEffects"
import { ApplyCardEventJob } from "@berth/domain/billing/events/CardEventJobs"
import { JobPermanentlyFailed } from "@berth/domain/jobs/JobQueue"
import { Effect } from "effect"
import { jobHandler } from "../jobs/JobHandler.ts"

/** Applies a stored event of the card processor. */
export const cardEventHandler = jobHandler(ApplyCardEventJob, ({ eventId }) =>
  Effect.flatMap(CardEventEffects, (effects) =>
    Effect.mapError(
      effects.apply(eventId),
      ({ reason }) => new JobPermanentlyFailed({ reason: `The event ${eventId} is unreadable: ${reason}` })
    )
  )
)
