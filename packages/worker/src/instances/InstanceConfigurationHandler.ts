import { AgentManager } from "@berth/domain/instances/AgentManager"
import { JobPermanentlyFailed, type RunningJob } from "@berth/domain/jobs/JobQueue"
import { Effect, Schema } from "effect"
import { ReconfigureInstanceJob } from "@berth/domain/agents/AgentJobs"

/** Tells an owner's cell what his agents are by now; one that is down hears it when it comes up. Doing it again changes nothing. */
export const handleInstanceConfiguration = Effect.fn("InstanceConfigurationHandler.handle")(function* (
  job: RunningJob
) {
  const { userId } = yield* Effect.mapError(
    Schema.decodeUnknown(ReconfigureInstanceJob.payload)(job.payload),
    ({ message }) =>
      new JobPermanentlyFailed({ reason: `the payload is not that of ${ReconfigureInstanceJob.name}: ${message}` })
  )
  yield* Effect.annotateCurrentSpan({ "user.id": userId })
  yield* Effect.flatMap(AgentManager, (manager) => manager.reconfigure(userId))
})
