import { AgentManager } from "@berth/domain/instances/AgentManager"
import { InstanceActionJob } from "@berth/domain/instances/InstanceJobs"
import { Effect } from "effect"
import { jobHandler } from "../jobs/JobHandler.ts"

/** Executes an administrator's action on an instance; no effect if the instance was deleted. */
export const instanceActionHandler = jobHandler(InstanceActionJob, ({ action, userId }) =>
  Effect.zipRight(
    Effect.annotateCurrentSpan({ "user.id": userId }),
    Effect.flatMap(AgentManager, (manager) =>
      Effect.catchTag(manager[action](userId), "InstanceNotFound", () => Effect.void)
    )
  )
)
