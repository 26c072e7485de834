import type { Agent } from "@berth/domain/agents/Agent"
import { AgentRepository } from "@berth/domain/agents/AgentRepository"
import { AgentManager } from "@berth/domain/instances/AgentManager"
import { Outbox } from "@berth/domain/jobs/Outbox"
import { Transaction } from "@berth/domain/persistence/Transaction"
import { DateTime, Duration, Effect, Layer, Option } from "effect"
import { runRecurringTask } from "../jobs/RecurringTask.ts"
import type { AgentId } from "@berth/domain/shared/AgentId"
import { ProvisionAgentJob } from "@berth/domain/agents/AgentJobs"

const every = Duration.seconds(30)
const firstRetryAfter = Duration.minutes(2)
const retryInterval = Duration.minutes(1)
const provisioningTimeout = Duration.minutes(10)

type StuckAgentMeasure = "wait" | "retry" | "fail"

/** Decides on an agent in provisioning. `createdAt` is the start of provisioning, `updatedAt` the last retry. */
export const decideStuckAgentMeasure = (
  agent: Pick<Agent, "createdAt" | "updatedAt">,
  now: DateTime.Utc
): StuckAgentMeasure => {
  const since = (moment: DateTime.Utc) => DateTime.distanceDuration(moment, now)
  if (Duration.greaterThan(since(agent.createdAt), provisioningTimeout)) return "fail"
  return Duration.greaterThan(since(agent.createdAt), firstRetryAfter) &&
    Duration.greaterThanOrEqualTo(since(agent.updatedAt), retryInterval)
    ? "retry"
    : "wait"
}

/** Recovers agents with a lost or hanging job. */
export const recoverStuckAgents = Effect.gen(function* () {
  const agents = yield* AgentRepository
  const manager = yield* AgentManager
  const outbox = yield* Outbox
  const transaction = yield* Transaction

  const fail = (agentId: AgentId) =>
    manager.failDeployment(
      agentId,
      `it was not running ${Duration.toMinutes(provisioningTimeout)} minutes after its creation`
    )

  /** Read again under the lock, so that it runs once per minute over all workers. */
  const retry = (agent: Agent, now: DateTime.Utc) =>
    transaction.run(
      Effect.gen(function* () {
        yield* agents.lockOwner(agent.ownerId)
        const current = yield* agents.find(agent.id)
        if (Option.isNone(current) || decideStuckAgentMeasure(current.value, now) !== "retry") return
        if (!(yield* agents.changeStatus(agent.id, "provisioning", "provisioning"))) return
        yield* outbox.append(ProvisionAgentJob, { agentId: agent.id }, agent.ownerId)
        yield* Effect.logWarning("Provisioning of a stuck agent retried")
      })
    )

  const now = yield* DateTime.now
  const stuck = yield* agents.listStalledProvisioning(DateTime.subtractDuration(now, retryInterval))
  yield* Effect.forEach(
    stuck,
    (agent) => {
      const measure = decideStuckAgentMeasure(agent, now)
      if (measure === "wait") return Effect.void
      return (measure === "fail" ? fail(agent.id) : retry(agent, now)).pipe(
        Effect.catchAllCause((cause) => Effect.logWarning("Recovery of a stuck agent failed", cause)),
        Effect.annotateLogs({ agentId: agent.id })
      )
    },
    { concurrency: 4, discard: true }
  )
}).pipe(Effect.withSpan("StuckAgentRecovery.run"))

export const layer = Layer.scopedDiscard(runRecurringTask("recover stuck agents", every, recoverStuckAgents))
