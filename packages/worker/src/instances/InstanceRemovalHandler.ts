import { AgentManager } from "@berth/domain/instances/AgentManager"
import { AccountRemovedJob } from "@berth/domain/recovery/deletion/AccountDeletionJobs"
import { Effect } from "effect"
import { jobHandler } from "../jobs/JobHandler.ts"

/** Removes the instance and the files of a deleted account; without rows nothing can start the instance again. */
export const instanceRemovalHandler = jobHandler(AccountRemovedJob, ({ userId }) =>
  Effect.zipRight(
    Effect.annotateCurrentSpan({ "user.id": userId }),
    Effect.flatMap(AgentManager, (manager) => manager.remove(userId))
  )
)
