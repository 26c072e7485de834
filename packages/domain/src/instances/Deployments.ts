import { Effect, Option } from "effect"
import { AgentConfiguration, type AgentConfigurationChange } from "../agents/AgentConfiguration.ts"
import { AgentInstances } from "../agents/AgentInstances.ts"
import { Agents } from "../agents/Agents.ts"
import { isUp } from "../agents/AgentStatus.ts"
import type { AgentId } from "../shared/AgentId.ts"
import type { User } from "../shared/User.ts"
import { AgentManager } from "./AgentManager.ts"

/** Id of an agent's only deployment: stable, without a row. */
const makeDeploymentId = (agentId: AgentId): string => agentId.replace(/^agt_/, "dep_")

/** Deploys an owner's agents and waits until they run. */
export class Deployments extends Effect.Service<Deployments>()("@berth/Deployments", {
  effect: Effect.gen(function* () {
    const agents = yield* Agents
    const configuration = yield* AgentConfiguration
    const instances = yield* AgentInstances
    const manager = yield* AgentManager

    /** Stores the configuration, then starts the agent. Of concurrent calls exactly one returns `isNew`. */
    const deploy = Effect.fn("Deployments.deploy")(function* (
      owner: User,
      agentId: AgentId,
      change: Option.Option<AgentConfigurationChange>
    ) {
      const found = yield* agents.find(owner.id, agentId)
      yield* Effect.annotateCurrentSpan({ "agent.id": agentId, "user.id": owner.id })
      const configured = yield* Option.match(change, {
        onNone: () => Effect.succeed(found),
        onSome: (change) => configuration.change(owner, found, change)
      })
      const isNew = isUp(configured.status) ? false : yield* manager.activate(agentId)
      // Read again: the owner may have stopped or deleted the agent concurrently.
      const agent = yield* agents.find(owner.id, agentId)
      return { id: makeDeploymentId(agentId), agent, isNew, instance: yield* instances.describe(owner.id) }
    })

    return { deploy }
  })
}) {}
