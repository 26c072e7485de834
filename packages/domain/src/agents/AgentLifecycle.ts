import { Effect, Option } from "effect"
import type { Agent } from "./Agent.ts"
import { AgentRepository } from "./AgentRepository.ts"
import { AgentSettings } from "./AgentSettings.ts"
import { type AgentLifecycleEvent, transitionAgentStatus } from "./AgentStatus.ts"
import { type ModelReplacement, findModelReplacement } from "./LegacyModels.ts"
import type { AgentId } from "../shared/AgentId.ts"
import type { UserId } from "../shared/UserId.ts"

/** Agents as the keeper of their cells needs them: who there is, and what has happened to them. */
export class AgentLifecycle extends Effect.Service<AgentLifecycle>()("@berth/AgentLifecycle", {
  effect: Effect.gen(function* () {
    const repository = yield* AgentRepository
    const { legacyModels } = yield* AgentSettings

    /** Tells the state machine what happened to an agent. A refused move is logged and changes nothing; so does one that another process made first. */
    const tell = (agent: Agent, event: AgentLifecycleEvent) =>
      Effect.matchEffect(transitionAgentStatus(agent.status, event), {
        onSuccess: (to) =>
          to === agent.status ? Effect.succeed(false) : repository.changeStatus(agent.id, agent.status, to),
        onFailure: ({ from }) =>
          Effect.logWarning("A status change was refused").pipe(
            Effect.annotateLogs({ agentId: agent.id, from, event }),
            Effect.as(false)
          )
      })

    /** Gives agents whose model is retired its successor; answers the agents as they are then, and what was healed. */
    const replaceRetiredModels = Effect.fn("AgentLifecycle.replaceRetiredModels")(function* (
      agents: ReadonlyArray<Agent>
    ) {
      const healings: Array<ModelReplacement> = []
      const members = yield* Effect.forEach(agents, (agent) =>
        Effect.gen(function* () {
          const healing = findModelReplacement(agent, legacyModels)
          if (Option.isNone(healing)) return agent
          const healed = yield* repository.updateConfiguration(agent.id, {
            model: { model: "custom", customModel: healing.value.to }
          })
          healings.push(healing.value)
          yield* Effect.logInfo("An agent's retired model was replaced").pipe(
            Effect.annotateLogs({ agentId: agent.id, ...healing.value })
          )
          return Option.getOrElse(healed, () => agent)
        })
      )
      return { members, healings }
    })

    return {
      replaceRetiredModels,
      find: Effect.fn("AgentLifecycle.find")(function* (id: AgentId) {
        return yield* repository.find(id)
      }),
      findOwned: Effect.fn("AgentLifecycle.findOwned")(function* (ownerId: UserId, id: AgentId) {
        return yield* repository.findOwned(ownerId, id)
      }),
      /** Newest first. */
      listOwned: Effect.fn("AgentLifecycle.listOwned")(function* (ownerId: UserId) {
        return yield* repository.listOwned(ownerId)
      }),
      /** Whether the agent's status is another one now. */
      applyEvent: Effect.fn("AgentLifecycle.applyEvent")(function* (agent: Agent, event: AgentLifecycleEvent) {
        return yield* tell(agent, event)
      }),
      applyEventToAll: Effect.fn("AgentLifecycle.applyEventToAll")(function* (
        agents: ReadonlyArray<Agent>,
        event: AgentLifecycleEvent
      ) {
        yield* Effect.forEach(agents, (agent) => tell(agent, event), { discard: true })
      })
    }
  })
}) {}
