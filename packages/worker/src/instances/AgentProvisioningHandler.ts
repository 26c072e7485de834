import { ProvisionAgentJob } from "@berth/domain/agents/AgentJobs"
import { AgentManager } from "@berth/domain/instances/AgentManager"
import type { AgentId } from "@berth/domain/shared/AgentId"
import { Cause, Effect, Predicate } from "effect"
import { jobHandler } from "../jobs/JobHandler.ts"

/** Deploys a new agent. The last failing attempt marks the agent as failed. */
export const agentProvisioningHandler = jobHandler(ProvisionAgentJob, ({ agentId }, job) =>
  Effect.gen(function* () {
    yield* Effect.annotateCurrentSpan({ "agent.id": agentId })
    const manager = yield* AgentManager
    const deployed = manager.deploy(agentId)
    yield* job.isLastAttempt
      ? Effect.tapErrorCause(deployed, (cause) => failProvisioning(agentId, describeCause(cause)))
      : deployed
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
