import { AgentManager } from "@berth/domain/instances/AgentManager"
import { JobPermanentlyFailed, type RunningJob } from "@berth/domain/jobs/JobQueue"
import { Cause, Effect, Predicate, Schema } from "effect"
import type { AgentId } from "@berth/domain/shared/AgentId"
import { ProvisionAgentJob } from "@berth/domain/agents/AgentJobs"

/** Brings a new agent up. The attempt that fails last gives the agent up, so that nobody waits for it any longer. */
export const handleAgentProvisioning = Effect.fn("AgentProvisioningHandler.handle")(function* (job: RunningJob) {
  const manager = yield* AgentManager
  const { agentId } = yield* Effect.mapError(
    Schema.decodeUnknown(ProvisionAgentJob.payload)(job.payload),
    ({ message }) =>
      new JobPermanentlyFailed({ reason: `the payload is not that of ${ProvisionAgentJob.name}: ${message}` })
  )
  yield* Effect.annotateCurrentSpan({ "agent.id": agentId })
  const deployed = manager.deploy(agentId)
  yield* job.attempt < job.attempts
    ? deployed
    : Effect.tapErrorCause(deployed, (cause) => failProvisioning(agentId, reasonOf(cause)))
})

const failProvisioning = (agentId: AgentId, reason: string) =>
  Effect.flatMap(AgentManager, (manager) => manager.failDeployment(agentId, reason)).pipe(
    Effect.catchAllCause((cause) =>
      Effect.logWarning("An agent could not be given up; it will be, as one that is stuck", cause).pipe(
        Effect.annotateLogs({ agentId })
      )
    )
  )

const reasonOf = (cause: Cause.Cause<unknown>): string => {
  const thrown = Cause.squash(cause)
  return Predicate.hasProperty(thrown, "reason") && Predicate.isString(thrown.reason)
    ? thrown.reason
    : "the deployment failed unexpectedly"
}
