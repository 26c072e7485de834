import { RevokeStreamKeyJob } from "@berth/domain/provisioning/ProvisioningJobs"
import { UnclaimedExpiry } from "@berth/domain/provisioning/UnclaimedExpiry"
import { Effect } from "effect"
import { jobHandler } from "../jobs/JobHandler.ts"

export const streamKeyRevocationHandler = jobHandler(RevokeStreamKeyJob, ({ agentId }) =>
  Effect.zipRight(
    Effect.annotateCurrentSpan({ "agent.id": agentId }),
    Effect.flatMap(UnclaimedExpiry, ({ revokeStreamKey }) => revokeStreamKey(agentId))
  )
)
