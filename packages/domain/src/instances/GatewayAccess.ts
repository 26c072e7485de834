import { Effect, Option, type Redacted } from "effect"
import { Users } from "../accounts/Users.ts"
import { Agents } from "../agents/Agents.ts"
import { Digests } from "../secrets/Digests.ts"
import { Instances } from "./Instances.ts"
import type { AgentId } from "../shared/AgentId.ts"

/** What an instance's gateway token opens: its owner's agents, on the instance's own endpoints. */
export class GatewayAccess extends Effect.Service<GatewayAccess>()("@berth/GatewayAccess", {
  effect: Effect.gen(function* () {
    const agents = yield* Agents
    const instances = yield* Instances
    const users = yield* Users
    const digests = yield* Digests

    /** The agent with its owner, and what changes when the token does; none when the token is not that agent's, or there is no such agent. */
    const authenticate = Effect.fn("GatewayAccess.authenticate")(function* (id: AgentId, shown: Redacted.Redacted) {
      const found = yield* agents.findUnscoped(id)
      if (Option.isNone(found)) return Option.none()
      const agent = found.value
      // An owner who is just being deleted has neither.
      const owner = yield* Effect.option(
        Effect.all({ token: instances.ensureGatewayToken(agent.ownerId), user: users.find(agent.ownerId) })
      )
      if (Option.isNone(owner) || !digests.equal(shown, owner.value.token)) return Option.none()
      const mark = (yield* instances.listGatewayTokenVersions([agent.ownerId])).get(agent.ownerId) ?? ""
      return Option.some({ agent, user: owner.value.user, mark })
    })

    return { authenticate }
  })
}) {}
