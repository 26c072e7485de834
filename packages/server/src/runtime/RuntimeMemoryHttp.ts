import { BackendApi } from "@berth/api/BackendApi"
import type { RuntimeModelRequest } from "@berth/api/runtime/RuntimeContract"
import { AgentNotInInstance, RuntimeOwner } from "@berth/api/runtime/RuntimeModelApi"
import { AgentLifecycle } from "@berth/domain/agents/AgentLifecycle"
import { Memories } from "@berth/domain/interaction/memory/Memories"
import { HttpApiBuilder } from "@effect/platform"
import { Effect } from "effect"
import type { AgentTurn } from "@berth/domain/interaction/turns/TurnRepository"

/** An instance reaches the memory of its owner's agents only. */
export const layer = HttpApiBuilder.group(BackendApi, "runtimeMemory", (handlers) =>
  Effect.gen(function* () {
    const agents = yield* AgentLifecycle
    const memories = yield* Memories

    const own = Effect.fnUntraced(function* ({
      agentId,
      messageId: turnId
    }: Pick<RuntimeModelRequest, "agentId" | "messageId">) {
      const userId = yield* RuntimeOwner
      yield* Effect.mapError(yield* agents.findOwned(userId, agentId), () => new AgentNotInInstance())
      return { agentId, userId, turnId } satisfies AgentTurn
    })

    return handlers
      .handle("note", ({ payload }) => Effect.flatMap(own(payload), (turn) => memories.noteInTurn(turn, payload.text)))
      .handle("recall", ({ payload }) =>
        Effect.gen(function* () {
          const found = yield* memories.searchInTurn(yield* own(payload), payload.query)
          return { found: found.map(({ at, kind, text }) => ({ kind, text, at: at.epochMillis })) }
        })
      )
  })
)
