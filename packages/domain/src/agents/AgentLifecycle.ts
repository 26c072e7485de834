import { Effect, Option } from "effect"
import type { Agent } from "./Agent.ts"
import { AgentRepository } from "./AgentRepository.ts"
import { AgentSettings } from "./AgentSettings.ts"
import { makeAgentStatusChange } from "./AgentStatusChanges.ts"
import { type AgentLifecycleEvent, transitionAgentStatus } from "./AgentStatus.ts"
import { type ModelReplacement, findModelReplacement } from "./LegacyModels.ts"

/** Reads agents and applies lifecycle events for the reconciler of their instances. */
export class AgentLifecycle extends Effect.Service<AgentLifecycle>()("@berth/AgentLifecycle", {
  effect: Effect.gen(function* () {
    const repository = yield* AgentRepository
    const changeStatus = yield* makeAgentStatusChange
    const { legacyModels } = yield* AgentSettings

    /** Applies an event by compare-and-set and returns whether the status changed; a rejected event is logged. */
    const apply = (agent: Agent, event: AgentLifecycleEvent) =>
      Effect.matchEffect(transitionAgentStatus(agent.status, event), {
        onSuccess: (to) => (to === agent.status ? Effect.succeed(false) : changeStatus(agent, to)),
        onFailure: ({ from }) =>
          Effect.logWarning("Status transition rejected").pipe(
            Effect.annotateLogs({ agentId: agent.id, from, event }),
            Effect.as(false)
          )
      })

    /** Replaces retired models with their successors. Returns the changed agents and the replacements. */
    const replaceRetiredModels = Effect.fn("AgentLifecycle.replaceRetiredModels")(function* (
      agents: ReadonlyArray<Agent>
    ) {
      const healings: Array<ModelReplacement> = []
      const members = yield* Effect.forEach(agents, (agent) =>
        Effect.gen(function* () {
          const replacement = findModelReplacement(agent, legacyModels)
          if (Option.isNone(replacement)) return agent
          const changed = yield* repository.updateConfiguration(agent.id, {
            model: { model: "custom", customModel: replacement.value.to }
          })
          healings.push(replacement.value)
          yield* Effect.logInfo("Retired model replaced").pipe(
            Effect.annotateLogs({ agentId: agent.id, ...replacement.value })
          )
          return Option.getOrElse(changed, () => agent)
        })
      )
      return { members, healings }
    })

    return {
      replaceRetiredModels,
      find: repository.find,
      findOwned: repository.findOwned,
      /** Newest first. */
      listOwned: repository.listOwned,
      applyEvent: Effect.fn("AgentLifecycle.applyEvent")(function* (agent: Agent, event: AgentLifecycleEvent) {
        return yield* apply(agent, event)
      }),
      applyEventToAll: Effect.fn("AgentLifecycle.applyEventToAll")(function* (
        agents: ReadonlyArray<Agent>,
        event: AgentLifecycleEvent
      ) {
        yield* Effect.forEach(agents, (agent) => apply(agent, event), { discard: true })
      })
    }
  })
}) {}
