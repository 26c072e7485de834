import { ClaimedContents } from "@berth/domain/interaction/ClaimedContents"
import { ResetClaimedContentsJob } from "@berth/domain/recovery/claims/ClaimJobs"
import { Effect } from "effect"
import { jobHandler } from "../jobs/JobHandler.ts"

export const claimedContentsResetHandler = jobHandler(ResetClaimedContentsJob, ({ userId }) =>
  Effect.zipRight(
    Effect.annotateCurrentSpan({ "user.id": userId }),
    Effect.flatMap(ClaimedContents, (contents) => contents.reset(userId))
  )
)
