import { EmailAddressConfirmedJob } from "@berth/domain/accounts/AccountJobs"
import { CardEventEffects } from "@berth/domain/billing/events/CardEventEffects"
import { Effect } from "effect"
import { jobHandler } from "../jobs/JobHandler.ts"

/** Applies card events received for the user's email address before its confirmation. */
export const cardEventMatchHandler = jobHandler(EmailAddressConfirmedJob, ({ userId }) =>
  Effect.zipRight(
    Effect.annotateCurrentSpan({ "user.id": userId }),
    Effect.flatMap(CardEventEffects, (effects) => effects.matchUser(userId))
  )
)
