import { ProvisionAgentJob } from "@berth/domain/agents/AgentJobs"
import { AgentManager } from "@berth/domain/instances/AgentManager"
import { JobPostponed } from "@berth/domain/jobs/JobQueue"
import type { AgentId } from "@berth/domain/shared/AgentId"
import { Cause, Duration, Effect, Predicate } from "effect"
import { jobHandler } from "../jobs/JobHandler.ts"

const postponed = new JobPostponed({ after: Duration.seconds(5) })

/**
 * Deploys a new agent. If the last attempt fails, the agent is marked as failed; an outage of the backend does not
 * count as an attempt.
 */
export const agentProvisioningHandler = jobHandler(ProvisionAgentJob, ({ agentId }, job) =>
  Effect.gen(function* () {
    yield* Effect.annotateCurrentSpan({ "agent.id": agentId })
    const manager = yield* AgentManager
    const isPostponed = yield* manager.deploy(agentId).pipe(
      Effect.as(false),
      Effect.catchTag("BackendUnavailable", ({ reason }) =>
        Effect.as(Effect.annotateLogs(Effect.logWarning("Deployment waits for the backend"), { agentId, reason }), true)
      ),
      Effect.tapErrorCause((cause) =>
        job.isLastAttempt ? failProvisioning(agentId, describeCause(cause)) : Effect.void
      )
    )
    if (isPostponed) yield* postponed
  })
)

const failProvisioning = (agentId: AgentId, reason: string) =>
  Effect.flatMap(AgentManager, (manager) => manager.failDeployment(agentId, reason)).pipe(
    Effect.catchAllCause((cause) =>
      Effect.logWarning("Agent not marked as failed, left to the recovery of stuck agents", cause).pipe(
        Effect.annotateLogs({ agentId })
      )
    )
  )

const describeCause = (cause: Cause.Cause<unknown>): string => {
  const thrown = Cause.squash(cause)
  return Predicate.hasProperty(thrown, "reason") && Predicate.isString(thrown.reason)
    ? thrown.reason
    : "the deployment failed unexpectedly"
}
