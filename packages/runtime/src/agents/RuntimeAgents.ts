import type { RuntimeAgent } from "@berth/domain/instances/AgentRuntime"
import { Effect, Option, Ref } from "effect"
import type { AgentId } from "@berth/domain/shared/AgentId"

/** Agents of the last configuration by the backend. */
export class RuntimeAgents extends Effect.Service<RuntimeAgents>()("@berth/runtime/RuntimeAgents", {
  effect: Effect.map(Ref.make<ReadonlyMap<AgentId, RuntimeAgent>>(new Map()), (all) => ({
    replace: (agents: ReadonlyArray<RuntimeAgent>) =>
      Ref.set(all, new Map(agents.map((agent) => [agent.id, agent] as const))),
    find: (id: AgentId) => Effect.map(Ref.get(all), (agents) => Option.fromNullable(agents.get(id))),
    ids: Effect.map(Ref.get(all), (agents) => [...agents.keys()])
  }))
}) {}
