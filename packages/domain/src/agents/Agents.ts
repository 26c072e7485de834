import { Array, DateTime, Effect, Option, Schema } from "effect"
import { parseDisplayName } from "../accounts/profile/DisplayName.ts"
import type { User, UserId } from "../shared/User.ts"
import { Allowances } from "../billing/subscriptions/Allowances.ts"
import { IdGenerator } from "../ids/IdGenerator.ts"
import { Instances } from "../instances/Instances.ts"
import { ProvisionAgentJob } from "../jobs/JobKind.ts"
import { Outbox } from "../jobs/Outbox.ts"
import { IdempotentExecution } from "../limits/IdempotentExecution.ts"
import { Transaction } from "../persistence/Transaction.ts"
import { SkillCatalog } from "../skills/Skill.ts"
import { listBasicSkillIds } from "../skills/SkillAvailability.ts"
import { Agent, type AgentConfig, AgentId, defaultAgentConfig } from "./Agent.ts"
import { AgentNotFound, AgentNameInvalid, PlanLimitReached, SubscriptionRequired } from "./AgentErrors.ts"
import { resolveAgentModel } from "./AgentModel.ts"
import { AllowedAgentModels } from "./AgentModels.ts"
import { AgentRepository } from "./AgentRepository.ts"
import { isUp } from "./AgentStatus.ts"
import { validatePlanFeatures, validateSkillSelection, deduplicateSelections } from "./AgentConfigPolicy.ts"

export interface NewAgentRequest {
  readonly name: string
  readonly model?: string | undefined
  readonly customModel?: string | null | undefined
  readonly config: Partial<AgentConfig>
}

/** An accepted agent as it is kept with the key of its request. */
const Accepted = Schema.Struct({ ...Agent.fields, createdAt: Schema.DateTimeUtc, updatedAt: Schema.DateTimeUtc })

/** A user's agents: asking for one, and reading them. */
export class Agents extends Effect.Service<Agents>()("@berth/Agents", {
  effect: Effect.gen(function* () {
    const agents = yield* AgentRepository
    const instances = yield* Instances
    const allowances = yield* Allowances
    const ids = yield* IdGenerator
    const outbox = yield* Outbox
    const { run } = yield* IdempotentExecution
    const transaction = yield* Transaction
    const models = yield* AllowedAgentModels
    const catalogue = yield* SkillCatalog
    const newAgentConfig: AgentConfig = { ...defaultAgentConfig, skills: listBasicSkillIds(catalogue) }

    /** Accepts a new agent in `provisioning`; its deployment follows through the outbox. The plan's limit is exact under concurrent requests. */
    const provision = Effect.fn("Agents.provision")(function* (owner: User, request: NewAgentRequest) {
      const name = yield* Effect.mapError(
        parseDisplayName(request.name),
        () => new AgentNameInvalid({ reason: "must have 1 to 200 characters and no control characters" })
      )
      const choice = yield* resolveAgentModel(models, request)
      yield* validateSkillSelection(catalogue, newAgentConfig, request.config)
      const now = yield* DateTime.now
      const asked = new Agent({
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
        yield* validatePlanFeatures(catalogue, allowance.features, newAgentConfig, request.config)
        yield* agents.lockOwner(owner.id)
        const current = yield* agents.countTowardsLimit(owner.id)
        // Of this moment: a plan that became smaller while this waited for its turn has not seen this agent.
        const { agents: limit } = yield* allowances.find(owner)
        if (current >= limit) return yield* new PlanLimitReached({ current, limit })
        yield* instances.ensure(owner.id)
        yield* agents.insert(asked)
        yield* outbox.append(ProvisionAgentJob, { agentId: asked.id }, owner.id)
        return asked
      })
      const agent = new Agent(yield* transaction.run(run(Accepted, accept)))
      yield* Effect.annotateCurrentSpan({ "agent.id": agent.id, "user.id": owner.id })
      yield* Effect.logInfo("An agent was asked for").pipe(Effect.annotateLogs({ agentId: agent.id, userId: owner.id }))
      return agent
    })

    /** Newest first. */
    const list = Effect.fn("Agents.list")(function* (ownerId: UserId) {
      return yield* agents.listOwned(ownerId)
    })

    const find = Effect.fn("Agents.find")(function* (ownerId: UserId, id: AgentId) {
      return yield* Effect.mapError(yield* agents.findOwned(ownerId, id), () => new AgentNotFound())
    })

    /** Whosever it is: for who proves that he may know by something else than a session. */
    const findUnscoped = Effect.fn("RuntimeAgents.findUnscoped")(function* (id: AgentId) {
      return yield* agents.find(id)
    })

    const findStatuses = Effect.fn("RuntimeAgents.findStatuses")(function* (ids: ReadonlyArray<AgentId>) {
      return yield* agents.findStatuses(ids)
    })

    /** The owner's oldest agent that is up: who answers when a request names none. */
    const findDefaultRunning = Effect.fn("RuntimeAgents.findDefaultRunning")(function* (ownerId: UserId) {
      return Array.last(Array.filter(yield* agents.listOwned(ownerId), ({ status }) => isUp(status)))
    })

    /** Whom a request means that names none and can do with an agent that is not up: the oldest that is, else the oldest. */
    const findDefault = Effect.fn("RuntimeAgents.findDefault")(function* (ownerId: UserId) {
      const owned = yield* agents.listOwned(ownerId)
      return Option.orElse(Array.last(Array.filter(owned, ({ status }) => isUp(status))), () => Array.last(owned))
    })

    return { provision, list, find, findUnscoped, findStatuses, findDefaultRunning, findDefault }
  })
}) {}
