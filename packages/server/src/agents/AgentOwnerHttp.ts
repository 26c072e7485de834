import { AgentOwner } from "@berth/api/agents/OwnedAgent"
import { Agents } from "@berth/domain/agents/Agents"
import { HttpRouter } from "@effect/platform"
import { Effect, Layer } from "effect"
import { RequestCredentials } from "../http/RequestCredentials.ts"
import { AgentId } from "@berth/domain/shared/AgentId"

/** Checks that the caller owns the agent of the path. */
export const layer = Layer.effect(
  AgentOwner,
  Effect.gen(function* () {
    const credentials = yield* RequestCredentials
    const agents = yield* Agents
    return AgentOwner.of({
      session: Effect.fnUntraced(function* () {
        const { user } = yield* credentials.require
        const { params } = yield* HttpRouter.RouteContext
        return { user, agent: yield* agents.find(user.id, AgentId.make(params["id"] ?? "")) }
      })
    })
  })
)
