import { ChannelChecks } from "@berth/domain/channels/ChannelChecks"
import { CheckChannelJob } from "@berth/domain/channels/ChannelJobs"
import { Effect } from "effect"
import { jobHandler } from "../jobs/JobHandler.ts"

/** Checks a connection. An unreachable platform does not fail the job: the check is repeated later. */
export const channelCheckHandler = jobHandler(CheckChannelJob, (key) =>
  Effect.zipRight(
    Effect.annotateCurrentSpan({ "agent.id": key.agentId, "channel.platform": key.platform }),
    Effect.flatMap(ChannelChecks, (checks) => checks.check(key))
  )
)
