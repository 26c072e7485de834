import { Effect } from "effect"
import { Users } from "../../accounts/Users.ts"
import type { Agent } from "../../agents/Agent.ts"
import { AgentConfiguration } from "../../agents/AgentConfiguration.ts"
import { AgentNotFound } from "../../agents/AgentErrors.ts"
import { AgentLifecycle } from "../../agents/AgentLifecycle.ts"
import type { AgentId } from "../../shared/AgentId.ts"
import type { User } from "../../shared/User.ts"
import { isSenderAllowed } from "../A2aAccess.ts"
import { A2aRepository } from "../A2aRepository.ts"

/** A caller that may communicate with an agent. */
export interface A2aPeer {
  readonly caller: User
  readonly agent: Agent
  readonly owner: User
  /** Ids of the skills that the agent offers to others. */
  readonly offered: ReadonlyArray<string>
}

/** Clients of the A2A protocol. An agent that does not allow the caller is not found. */
export class A2aPeers extends Effect.Service<A2aPeers>()("@berth/A2aPeers", {
  effect: Effect.gen(function* () {
    const agents = yield* AgentLifecycle
    const users = yield* Users
    const configuration = yield* AgentConfiguration
    const repository = yield* A2aRepository

    const find = Effect.fn("A2aPeers.find")(function* (caller: User, id: AgentId) {
      const agent = yield* Effect.mapError(yield* agents.find(id), () => new AgentNotFound())
      const { allow, skills: offered } = yield* repository.readSettings(agent.id)
      // An agent in the allow list represents its owner, as in messages between agents.
      const agentIds =
        allow.length === 0 || agent.ownerId === caller.id
          ? []
          : (yield* agents.listOwned(caller.id)).map(({ id }) => id)
      if (!isSenderAllowed({ ownerId: agent.ownerId, allow }, { ownerId: caller.id, agentIds }))
        return yield* new AgentNotFound()
      const owner = yield* Effect.mapError(users.find(agent.ownerId), () => new AgentNotFound())
      if (owner.suspendedAt !== null) return yield* new AgentNotFound()
      return { caller, agent, owner, offered } satisfies A2aPeer
    })

    /** Lists the usable skills of the agent: all for its owner, the offered ones for others. */
    const listSkills = Effect.fn("A2aPeers.listSkills")(function* (
      { agent, caller, offered, owner }: A2aPeer,
      { all }: { readonly all: boolean }
    ) {
      const available = yield* configuration.listSkills(owner, agent)
      const isShown = (id: string) => (all && caller.id === owner.id) || offered.includes(id)
      return available.flatMap(({ enabled, skill }) => (enabled && isShown(skill.id) ? [skill] : []))
    })

    return { find, listSkills }
  })
}) {}
