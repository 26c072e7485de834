import { Effect, Option, type Redacted } from "effect"
import { Users } from "../accounts/Users.ts"
import { Agents } from "../agents/Agents.ts"
import { Digests } from "../secrets/Digests.ts"
import { Instances } from "./Instances.ts"
import type { AgentId } from "../shared/AgentId.ts"
import type { UserId } from "../shared/UserId.ts"

/** Authentication by an instance's gateway token, which grants access to the owner's agents. */
export class GatewayTokenAccess extends Effect.Service<GatewayTokenAccess>()("@berth/GatewayTokenAccess", {
  effect: Effect.gen(function* () {
    const agents = yield* Agents
    const instances = yield* Instances
    const users = yield* Users
    const digests = yield* Digests

    const authenticateOwner = Effect.fnUntraced(function* (ownerId: UserId, presented: Redacted.Redacted) {
      // A check creates no token, since an owner without a token cannot present one.
      const mark = (yield* instances.listGatewayTokenVersions([ownerId])).get(ownerId)
      if (mark === undefined) return Option.none()
      // The owner may be deleted concurrently.
      const owner = yield* Effect.option(
        Effect.all({ token: instances.ensureGatewayToken(ownerId), user: users.find(ownerId) })
      )
      if (Option.isNone(owner) || !digests.equal(presented, owner.value.token)) return Option.none()
      if (owner.value.user.suspendedAt !== null) return Option.none()
      return Option.some({ user: owner.value.user, mark })
    })

    /** Returns the agent, its owner and the token's version. None for an unknown agent or another token. */
    const authenticate = Effect.fn("GatewayTokenAccess.authenticate")(function* (
      id: AgentId,
      presented: Redacted.Redacted
    ) {
      const found = yield* agents.findUnscoped(id)
      if (Option.isNone(found)) return Option.none()
      const agent = found.value
      return Option.map(yield* authenticateOwner(agent.ownerId, presented), (owner) => ({ agent, ...owner }))
    })

    /**
     * Returns the owner of the instance with this subdomain, and the token's version. None for an unknown name or
     * another token.
     */
    const authenticateSubdomain = Effect.fn("GatewayTokenAccess.authenticateSubdomain")(function* (
      subdomain: string,
      presented: Redacted.Redacted
    ) {
      const owner = yield* instances.findOwnerBySubdomain(subdomain)
      return Option.flatten(yield* Effect.transposeMapOption(owner, (ownerId) => authenticateOwner(ownerId, presented)))
    })

    return { authenticate, authenticateSubdomain }
  })
}) {}
