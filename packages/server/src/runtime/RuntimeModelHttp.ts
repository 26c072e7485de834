import { BackendApi } from "@berth/api/BackendApi"
import type { RuntimeModelEvent } from "@berth/api/runtime/RuntimeContract"
import { AgentNotInInstance, RuntimeOwner } from "@berth/api/runtime/RuntimeModelApi"
import { AgentLifecycle } from "@berth/domain/agents/AgentLifecycle"
import { AiLayer } from "@berth/domain/ai/AiLayer"
import { TurnKeys } from "@berth/domain/interaction/conversations/TurnKeys"
import { HttpApiBuilder } from "@effect/platform"
import { Effect, Option, Stream } from "effect"
import { respondEvents } from "../http/SseResponse.ts"

/** The AI layer for runtimes, metered on the instance's owner. */
export const layer = HttpApiBuilder.group(BackendApi, "runtimeModel", (handlers) =>
  Effect.gen(function* () {
    const agents = yield* AgentLifecycle
    const ai = yield* AiLayer
    const turnKeys = yield* TurnKeys

    return handlers.handle("complete", ({ payload }) =>
      Effect.gen(function* () {
        const owner = yield* RuntimeOwner
        const agent = yield* agents.findOwned(owner, payload.agentId)
        if (Option.isNone(agent)) return yield* new AgentNotInInstance()
        const opening = ai.open({
          messages: payload.messages,
          model: payload.model,
          options: {
            temperature: payload.temperature ?? undefined,
            maxTokens: payload.maxTokens ?? undefined,
            tools: payload.tools
          },
          caller: { userId: owner, agentId: payload.agentId }
        })
        const { agentId, messageId: turnId } = payload
        const answer = Stream.unwrapScoped(
          Effect.flatMap(opening, ({ events, opening: { ownKey } }) =>
            Effect.as(turnKeys.recordCall({ userId: owner, agentId, turnId, ownKey }), events)
          )
        )
        return respondEvents(
          answer.pipe(
            Stream.map((event): RuntimeModelEvent =>
              event.type === "done" ? { type: "done", model: event.model, provider: event.provider } : event
            ),
            Stream.catchAll((failure) => Stream.make<[RuntimeModelEvent]>({ type: "error", message: failure.message }))
          )
        )
      })
    )
  })
)
