import { Array, DateTime, Effect } from "effect"
import { parseDisplayName } from "../accounts/DisplayName.ts"
import type { User, UserId } from "../accounts/User.ts"
import { Allowances } from "../billing/Allowances.ts"
import { IdGenerator } from "../ids/IdGenerator.ts"
import { Instances } from "../instances/Instances.ts"
import { NewAgent } from "../jobs/Job.ts"
import { Outbox } from "../jobs/Outbox.ts"
import { Transaction } from "../persistence/Transaction.ts"
import { Agent, type AgentConfig, AgentId, defaultAgentConfig } from "./Agent.ts"
import { AgentIsUnknown, AgentNameIsInvalid, PlanLimitIsReached, SubscriptionIsRequired } from "./AgentErrors.ts"
import { chooseModel } from "./AgentModel.ts"
import { AgentModels } from "./AgentModels.ts"
import { AgentRepository } from "./AgentRepository.ts"
import { isUp } from "./AgentStatus.ts"

export interface AgentRequest {
  readonly name: string
  readonly model?: string | undefined
  readonly customModel?: string | null | undefined
  readonly config: Partial<AgentConfig>
}

/** A user's agents: asking for one, and reading them. */
export class Agents extends Effect.Service<Agents>()("@berth/Agents", {
  effect: Effect.gen(function* () {
    const agents = yield* AgentRepository
    const instances = yield* Instances
    const allowances = yield* Allowances
    const ids = yield* IdGenerator
    const outbox = yield* Outbox
    const transaction = yield* Transaction
    const models = yield* AgentModels

    /** Accepts a new agent in `provisioning`; its deployment follows through the outbox. The plan's limit is exact under concurrent requests. */
    const provision = Effect.fn("Agents.provision")(function* (owner: User, request: AgentRequest) {
      const name = yield* Effect.mapError(
        parseDisplayName(request.name),
        () => new AgentNameIsInvalid({ reason: "must have 1 to 200 characters and no control characters" })
      )
      const choice = yield* chooseModel(models, request)
      const allowance = yield* allowances.of(owner)
      if (!allowance.mayProvision) return yield* new SubscriptionIsRequired()
      const now = yield* DateTime.now
      const agent = new Agent({
        id: AgentId.make(yield* ids.next("agt")),
        ownerId: owner.id,
        name,
        ...choice,
        status: "provisioning",
        config: { ...defaultAgentConfig, ...request.config },
        createdAt: now,
        updatedAt: now
      })
      yield* transaction.run(
        Effect.gen(function* () {
          yield* agents.lockOwner(owner.id)
          const current = yield* agents.countTowardsLimit(owner.id)
          if (current >= allowance.agents) return yield* new PlanLimitIsReached({ current, limit: allowance.agents })
          yield* instances.ensure(owner.id)
          yield* agents.insert(agent)
          yield* outbox.append(NewAgent, { agentId: agent.id })
        })
      )
      yield* Effect.annotateCurrentSpan({ "agent.id": agent.id, "user.id": owner.id })
      yield* Effect.logInfo("An agent was asked for").pipe(Effect.annotateLogs({ agentId: agent.id, userId: owner.id }))
      return agent
    })

    /** Newest first. */
    const list = Effect.fn("Agents.list")(function* (ownerId: UserId) {
      return yield* agents.listOwned(ownerId)
    })

    const find = Effect.fn("Agents.find")(function* (ownerId: UserId, id: AgentId) {
      return yield* Effect.mapError(yield* agents.findOwned(ownerId, id), () => new AgentIsUnknown())
    })

    /** Whosever it is: for who proves that he may know by something else than a session. */
    const lookUp = Effect.fn("Agents.lookUp")(function* (id: AgentId) {
      return yield* agents.find(id)
    })

    const statuses = Effect.fn("Agents.statuses")(function* (ids: ReadonlyArray<AgentId>) {
      return yield* agents.statusesOf(ids)
    })

    /** The owner's oldest agent that is up: who answers when a request names none. */
    const findFirstUp = Effect.fn("Agents.findFirstUp")(function* (ownerId: UserId) {
      return Array.last(Array.filter(yield* agents.listOwned(ownerId), ({ status }) => isUp(status)))
    })

    return { provision, list, find, lookUp, statuses, findFirstUp }
  })
}) {}
