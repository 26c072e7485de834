import { Array, DateTime, Effect, Option, Schema } from "effect"
import { parseDisplayName } from "../accounts/profile/DisplayName.ts"
import type { User } from "../shared/User.ts"
import { Allowances } from "../billing/subscriptions/Allowances.ts"
import { IdGenerator } from "../ids/IdGenerator.ts"
import { Outbox } from "../jobs/Outbox.ts"
import { IdempotentExecution } from "../limits/IdempotentExecution.ts"
import { Transaction } from "../persistence/Transaction.ts"
import { SkillCatalog } from "../skills/Skill.ts"
import { listBasicSkillIds } from "../skills/SkillAvailability.ts"
import { Agent, type AgentConfig, defaultAgentConfig } from "./Agent.ts"
import { AgentNotFound, AgentNameInvalid, PlanLimitReached, SubscriptionRequired } from "./AgentErrors.ts"
import { AgentInstances } from "./AgentInstances.ts"
import { resolveAgentModel } from "./AgentModel.ts"
import { AgentRepository } from "./AgentRepository.ts"
import { AgentSettings } from "./AgentSettings.ts"
import { isUp } from "./AgentStatus.ts"
import { validatePlanFeatures, validateSkillSelection, deduplicateSelections } from "./AgentConfigPolicy.ts"
import { AgentId } from "../shared/AgentId.ts"
import type { Channel } from "../shared/Channel.ts"
import type { UserId } from "../shared/UserId.ts"
import { ProvisionAgentJob } from "./AgentJobs.ts"
import { withExportedSpan } from "../shared/SpanExport.ts"

interface NewAgentRequest {
  readonly name: string
  readonly model?: string | undefined
  readonly customModel?: string | null | undefined
  readonly config: Partial<AgentConfig>
}

/** Form of an accepted agent in the stored result of an idempotent request. */
const Accepted = Schema.Struct({ ...Agent.fields, createdAt: Schema.DateTimeUtc, updatedAt: Schema.DateTimeUtc })

export class Agents extends Effect.Service<Agents>()("@berth/Agents", {
  effect: Effect.gen(function* () {
    const agents = yield* AgentRepository
    const instances = yield* AgentInstances
    const allowances = yield* Allowances
    const ids = yield* IdGenerator
    const outbox = yield* Outbox
    const { run } = yield* IdempotentExecution
    const transaction = yield* Transaction
    const { models } = yield* AgentSettings
    const catalog = yield* SkillCatalog
    const newAgentConfig: AgentConfig = { ...defaultAgentConfig, skills: listBasicSkillIds(catalog) }

    /** Inserts a new agent in `provisioning`; a job deploys it. The plan's limit is exact under concurrent requests. */
    const provision = Effect.fn("Agents.provision")(function* (owner: User, request: NewAgentRequest) {
      const name = yield* Effect.mapError(
        parseDisplayName(request.name),
        () => new AgentNameInvalid({ reason: "must have 1 to 200 characters and no control characters" })
      )
      const choice = yield* resolveAgentModel(models, request)
      yield* validateSkillSelection(catalog, newAgentConfig, request.config)
      const now = yield* DateTime.now
      const requested = new Agent({
        id: AgentId.make(yield* ids.next("agt")),
        ownerId: owner.id,
        name,
        ...choice,
        status: "provisioning",
        config: { ...newAgentConfig, ...deduplicateSelections(request.config) },
        createdAt: now,
        updatedAt: now
      })
      const accept = Effect.gen(function* () {
        const allowance = yield* allowances.find(owner)
        if (!allowance.mayProvision) return yield* new SubscriptionRequired()
        yield* validatePlanFeatures(catalog, allowance.features, newAgentConfig, request.config)
        yield* agents.lockOwner(owner.id)
        const current = yield* agents.countTowardsLimit(owner.id)
        // A plan change may have committed during the wait for the lock.
        const { agents: limit } = yield* allowances.find(owner)
        if (current >= limit) return yield* new PlanLimitReached({ current, limit })
        yield* instances.ensure(owner.id)
        yield* agents.insert(requested)
        yield* outbox.append(ProvisionAgentJob, { agentId: requested.id }, owner.id)
        return requested
      })
      const agent = new Agent(yield* transaction.run(run(Accepted, accept)))
      yield* Effect.annotateCurrentSpan({ "agent.id": agent.id, "user.id": owner.id })
      yield* Effect.logInfo("Agent accepted").pipe(Effect.annotateLogs({ agentId: agent.id, userId: owner.id }))
      return agent
    })

    /** Inserts the first agent of an owner without a plan; a job deploys it. Joins the running transaction. */
    const provisionUnclaimed = Effect.fn("Agents.provisionUnclaimed")(function* (
      ownerId: UserId,
      { channels, name }: { readonly name: string; readonly channels: ReadonlyArray<Channel> }
    ) {
      const now = yield* DateTime.now
      const agent = new Agent({
        id: AgentId.make(yield* ids.next("agt")),
        ownerId,
        name,
        ...(yield* Effect.orDie(resolveAgentModel(models, {}))),
        status: "provisioning",
        config: { ...newAgentConfig, channels: [...newAgentConfig.channels, ...channels] },
        createdAt: now,
        updatedAt: now
      })
      yield* instances.ensure(ownerId)
      yield* agents.insert(agent)
      yield* outbox.append(ProvisionAgentJob, { agentId: agent.id }, ownerId)
      return agent
    })

    /**
     * Transfers an agent to another owner within the limits of the plan; a job deploys it. Joins the running
     * transaction.
     */
    const transfer = Effect.fn("Agents.transfer")(function* (id: AgentId, from: UserId, to: User) {
      yield* agents.lockOwner(to.id)
      const current = yield* agents.countTowardsLimit(to.id)
      const { agents: limit } = yield* allowances.find(to)
      if (current >= limit) return yield* new PlanLimitReached({ current, limit })
      yield* instances.ensure(to.id)
      const moved = yield* Effect.mapError(yield* agents.transfer(id, from, to.id), () => new AgentNotFound())
      yield* outbox.append(ProvisionAgentJob, { agentId: id }, to.id)
      return moved
    })

    /** Newest first. */
    const list = agents.listOwned

    const find = Effect.fnUntraced(function* (ownerId: UserId, id: AgentId) {
      return yield* Effect.mapError(yield* agents.findOwned(ownerId, id), () => new AgentNotFound())
    }, withExportedSpan("Agents.find"))

    /** No ownership check: callers authorize with the gateway token. */
    const findUnscoped = agents.find

    const findStatuses = agents.findStatuses

    /** The owner's oldest running agent, which answers requests without an agent. */
    const findDefaultRunning = Effect.fn("Agents.findDefaultRunning")(function* (ownerId: UserId) {
      return Array.last(Array.filter(yield* agents.listOwned(ownerId), ({ status }) => isUp(status)))
    })

    /** As `findDefaultRunning`; the oldest agent if none is running. */
    const findDefault = Effect.fn("Agents.findDefault")(function* (ownerId: UserId) {
      const owned = yield* agents.listOwned(ownerId)
      return Option.orElse(Array.last(Array.filter(owned, ({ status }) => isUp(status))), () => Array.last(owned))
    })

    return {
      provision,
      provisionUnclaimed,
      transfer,
      list,
      find,
      findUnscoped,
      findStatuses,
      findDefaultRunning,
      findDefault
    }
  })
}) {}
