import type { RuntimeModelRequest } from "@berth/api/runtime/RuntimeContract"
import { AgentNotInInstance, RuntimeOwner } from "@berth/api/runtime/RuntimeModelApi"
import { AgentLifecycle } from "@berth/domain/agents/AgentLifecycle"
import type { AgentTurn } from "@berth/domain/interaction/turns/TurnRepository"
import { Effect } from "effect"

/** Finds the turn of a request. An instance can access only its owner's agents. */
export const makeOwnTurn = Effect.map(AgentLifecycle, (agents) =>
  Effect.fnUntraced(function* ({ agentId, messageId: turnId }: Pick<RuntimeModelRequest, "agentId" | "messageId">) {
    const userId = yield* RuntimeOwner
    yield* Effect.mapError(yield* agents.findOwned(userId, agentId), () => new AgentNotInInstance())
    return { agentId, userId, turnId } satisfies AgentTurn
  })
)
