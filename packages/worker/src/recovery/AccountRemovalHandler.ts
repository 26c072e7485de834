import { RemoveAccountJob } from "@berth/domain/recovery/deletion/AccountDeletionJobs"
import { AccountRemoval } from "@berth/domain/recovery/deletion/AccountRemoval"
import { Effect } from "effect"
import { jobHandler } from "../jobs/JobHandler.ts"

export const accountRemovalHandler = jobHandler(RemoveAccountJob, ({ userId }) =>
  Effect.zipRight(
    Effect.annotateCurrentSpan({ "user.id": userId }),
    Effect.flatMap(AccountRemoval, (removal) => removal.remove(userId))
  )
)
