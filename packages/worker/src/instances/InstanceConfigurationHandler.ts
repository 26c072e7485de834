import { ReconfigureInstanceJob } from "@berth/domain/agents/AgentJobs"
import { AgentManager } from "@berth/domain/instances/AgentManager"
import { Effect } from "effect"
import { jobHandler } from "../jobs/JobHandler.ts"

/** Applies the current agents to the owner's instance, and deletes the files of deleted agents. */
export const instanceConfigurationHandler = jobHandler(ReconfigureInstanceJob, ({ userId }) =>
  Effect.zipRight(
    Effect.annotateCurrentSpan({ "user.id": userId }),
    Effect.flatMap(AgentManager, (manager) => manager.reconfigure(userId))
  )
)
