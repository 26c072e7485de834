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

type StuckAgentMeasure = "wait" | "ask again" | "give up"

/**
 * What becomes of an agent that is being provisioned. Provisioning begins with the agent's creation; since then it was last
 * touched when its job was asked for again.
 */
export const decideStuckAgentMeasure = (
  agent: Pick<Agent, "createdAt" | "updatedAt">,
  now: DateTime.Utc
): StuckAgentMeasure => {
  const since = (moment: DateTime.Utc) => DateTime.distanceDuration(moment, now)
  if (Duration.greaterThan(since(agent.createdAt), provisioningTimeout)) return "give up"
  return Duration.greaterThan(since(agent.createdAt), firstRetryAfter) &&
    Duration.greaterThanOrEqualTo(since(agent.updatedAt), retryInterval)
    ? "ask again"
    : "wait"
}

/** Looks after agents whose job was lost, or hangs. */
export const recoverStuckAgents = Effect.gen(function* () {
  const agents = yield* AgentRepository
  const manager = yield* AgentManager
  const outbox = yield* Outbox
  const transaction = yield* Transaction

  const giveUp = (agentId: AgentId) =>
    manager.failDeployment(
      agentId,
      `it was not running ${Duration.toMinutes(provisioningTimeout)} minutes after it was asked for`
    )

  /** The lock and the second look make it once a minute, however many workers find the same agent. */
  const askAgain = (agent: Agent, now: DateTime.Utc) =>
    transaction.run(
      Effect.gen(function* () {
        yield* agents.lockOwner(agent.ownerId)
        const found = yield* agents.find(agent.id)
        if (Option.isNone(found) || decideStuckAgentMeasure(found.value, now) !== "ask again") return
        if (!(yield* agents.changeStatus(agent.id, "provisioning", "provisioning"))) return
        yield* outbox.append(ProvisionAgentJob, { agentId: agent.id }, agent.ownerId)
        yield* Effect.logWarning("An agent is long in provisioning; its job was added again")
      })
    )

  const now = yield* DateTime.now
  const stuck = yield* agents.listStalledProvisioning(DateTime.subtractDuration(now, retryInterval))
  yield* Effect.forEach(
    stuck,
    (agent) => {
      const measure = decideStuckAgentMeasure(agent, now)
      if (measure === "wait") return Effect.void
      return (measure === "give up" ? giveUp(agent.id) : askAgain(agent, now)).pipe(
        Effect.catchAllCause((cause) => Effect.logWarning("A stuck agent could not be looked after", cause)),
        Effect.annotateLogs({ agentId: agent.id })
      )
    },
    { concurrency: 4, discard: true }
  )
}).pipe(Effect.withSpan("StuckAgentRecovery.run"))

export const layer = Layer.scopedDiscard(runRecurringTask("look after stuck agents", every, recoverStuckAgents))
